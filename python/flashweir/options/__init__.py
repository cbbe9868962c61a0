"""Options of functions and commands, each declared once: `option` is the rule, the other modules the options."""
