"""The structure of a result: one declaration, from which schema, types, checks and tables of the documents follow."""
