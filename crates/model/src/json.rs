//! JSON of what is stored and sent: compiled once, here, and not again in each crate that reads or writes it.

/// What is stored and sent as JSON.
pub trait Json: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// Where it isn't one.
    fn from_json(text: &[u8]) -> serde_json::Result<Self>;
    /// Writes it.
    fn to_json(&self) -> String;
}

/// For `skip_serializing_if`: whether it is what is read where nothing is written.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Makes [`Json`] of types that serde reads and writes; their maps have words as keys.
#[macro_export]
macro_rules! json {
    ($($what:ty),+ $(,)?) => {$(
        impl $crate::json::Json for $what {
            fn from_json(text: &[u8]) -> serde_json::Result<Self> {
                serde_json::from_slice(text)
            }

            fn to_json(&self) -> String {
                serde_json::to_string(self).expect("maps have words as keys")
            }
        }
    )+};
}

json!(
    crate::case::Case,
    crate::catalogue::Catalogue,
    crate::clock::Record,
    crate::floors::Floors,
    crate::host::Host,
    crate::launch::Message,
    crate::launch::Record,
    crate::noise::RoundNoise,
    crate::peer::FarHost,
    crate::peer::PeerRecord,
    crate::plugin::Plugin,
    crate::request::Request,
    Vec<crate::route::LabRecord>,
    Vec<String>,
);
