//! The C library that is in use, linked into the program or not.

/// The release of glibc, such as `2.36`; None of another C library.
#[cfg(target_env = "gnu")]
pub fn glibc_version() -> Option<String> {
    // SAFETY: the call takes nothing, and gives a string with a zero at its end that lives as long as the library.
    let version = unsafe { std::ffi::CStr::from_ptr(libc::gnu_get_libc_version()) };
    Some(version.to_str().ok()?.to_owned())
}

/// The release of glibc, such as `2.36`; None of another C library.
#[cfg(not(target_env = "gnu"))]
pub fn glibc_version() -> Option<String> {
    None
}
