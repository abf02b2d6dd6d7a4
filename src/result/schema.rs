// SPDX-License-Identifier: GPL-2.0-only
//! The field `schema` of artis's files: a string that can only be the format's name.

/// Makes the type `SchemaName`, which is written as the given name and read from nothing else.
macro_rules! schema_name {
    ($schema:expr) => {
        /// A string that can only be [`SCHEMA`].
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct SchemaName;

        impl serde::Serialize for SchemaName {
            fn serialize<S: serde::Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.serialize_str($schema)
            }
        }

        impl<'de> serde::Deserialize<'de> for SchemaName {
            fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
                $crate::schema::exactly($schema, input).map(|()| Self)
            }
        }
    };
}
pub(super) use schema_name;

/// Reads a string that can only be `schema`.
pub(super) fn exactly<'de, D: serde::Deserializer<'de>>(
    schema: &str,
    input: D,
) -> Result<(), D::Error> {
    let name = <String as serde::Deserialize>::deserialize(input)?;
    if name == schema {
        Ok(())
    } else {
        Err(serde::de::Error::custom(format!(
            "the schema is {name:?}, and {schema:?} is needed here; give the file to the command \
             that reads it, or take an artis that knows this schema"
        )))
    }
}
