//! The operating system's reason for an error, as people read it.

use std::io;

/// Text between the operating system's words and its number of an error, as Rust writes them.
const CODE: &str = " (os error ";

/// The text without `(os error N)`, which says nothing that the words before it do not.
pub fn without_code(text: &str) -> String {
    let mut parts = text.split(CODE);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        match part[digits..].strip_prefix(')').filter(|_| digits > 0) {
            Some(rest) => plain.push_str(rest),
            None => plain.extend([CODE, part]),
        }
    }
    plain
}

/// The same error with the contents that its file was to have, such as "a trace of requests".
pub fn expecting(error: &io::Error, expected: &str) -> io::Error {
    io::Error::new(error.kind(), format!("{}; expected {expected}", without_code(&error.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_goes_and_nothing_else() {
        let absent = io::Error::from_raw_os_error(2);
        assert_eq!(without_code(&format!("a.csv: {absent}")), "a.csv: No such file or directory");
        assert_eq!(
            without_code(&format!("{absent}; {absent}!")),
            "No such file or directory; No such file or directory!"
        );
        for plain in
            ["", "a (os error )", "a (os error 2", "a (os error x) b", "a (os error 2x)", "(os error 2)"]
        {
            assert_eq!(without_code(plain), plain);
        }
        let said = expecting(&absent, "a trace");
        assert_eq!(said.to_string(), "No such file or directory; expected a trace");
        assert_eq!(said.kind(), io::ErrorKind::NotFound);
    }
}
