//! Files that a user names, read no further than such a file can be long: a device that never ends is
//! no study.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Reads the text of a file or a pipe of at most `most` bytes.
///
/// # Errors
/// Where it is something else, longer, or no text.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    // Asked before it is opened: opening some devices does something.
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        let what = if kind.is_dir() { "a folder" } else { "a device" };
        return Err(io::Error::other(format!("it is {what}, not a file")));
    }
    let mut text = String::new();
    File::open(path)?.take(most + 1).read_to_string(&mut text).map_err(|error| {
        let is_no_text = error.kind() == io::ErrorKind::InvalidData;
        if is_no_text { io::Error::other("it is not text") } else { error }
    })?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {most} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_read_and_no_further_than_asked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let refusal = |path: &Path| text(path, 4).unwrap_err().to_string();
        std::fs::write(&path, "four").unwrap();
        assert_eq!(text(&path, 4).unwrap(), "four");
        std::fs::write(&path, "fours").unwrap();
        assert!(refusal(&path).contains("longer than 4 bytes"));
        std::fs::write(&path, [0xff]).unwrap();
        assert!(refusal(&path).contains("not text"));
        assert!(refusal(Path::new("/dev/zero")).contains("a device"));
        assert!(refusal(folder.path()).contains("a folder"));
    }
}
