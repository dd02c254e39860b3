//! Statistics: pure functions over slices; nothing here knows where numbers come from.
