//! What stands behind the question mark of a request, and in a form.

use std::str::FromStr;

use percent_encoding::percent_decode_str;

/// The fields of a query, each as it was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query<'a>(pub(crate) &'a str);

impl<'a> Query<'a> {
    /// What was written for `name`, encoded.
    pub(crate) fn raw(self, name: &str) -> Option<&'a str> {
        let mut fields = self.0.split('&').map(|field| {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            (decoded(name), value)
        });
        fields.find(|(found, _)| found == name).map(|field| field.1)
    }

    /// The text that was given for `name`; none where it is empty.
    pub(crate) fn text(self, name: &str) -> Option<String> {
        self.raw(name).map(decoded).filter(|text| !text.is_empty())
    }

    /// The value that was given for `name`.
    pub(crate) fn value<T: FromStr>(self, name: &str) -> Result<Option<T>, String> {
        let Some(text) = self.text(name) else {
            return Ok(None);
        };
        let read = text.parse().map(Some);
        read.map_err(|_| format!("{name} cannot be read: see /api/v1/openapi.json"))
    }
}

/// What a browser has encoded. Bytes that are no text are shown as such.
pub(crate) fn decoded(text: &str) -> String {
    let text = text.replace('+', " ");
    percent_decode_str(&text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_whatever_stands_around_them() {
        let query = Query("a=1&b=x+y%26%2B&empty=&c&a=2&%64=%C3%BC&bad=%FF%zz");
        assert_eq!(query.value::<u8>("a"), Ok(Some(1)));
        assert_eq!(query.text("b").as_deref(), Some("x y&+"));
        assert_eq!(query.text("empty"), None);
        assert_eq!(query.value::<u8>("c"), Ok(None));
        assert_eq!(query.text("d").as_deref(), Some("ü"));
        assert_eq!(query.text("bad").as_deref(), Some("\u{fffd}%zz"));
        assert_eq!(query.text("nothing"), None);
        assert!(Query("limit=-1").value::<usize>("limit").is_err());
        assert!(Query("").value::<usize>("limit").unwrap().is_none());
    }
}
