//! Files that a user names, read no further than such a file can be long: a device that never ends is
//! no study.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

/// Bytes of the first read.
const FIRST: u64 = 1 << 16;

/// Reads the text of a file or a pipe of at most `most` bytes.
///
/// # Errors
/// Where it is something else, longer, or no text; or a FIFO that nobody writes into, which would be waited for.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    // Asked before it is opened: opening some devices does something.
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_fifo() {
        let what = if kind.is_dir() { "a folder" } else { "a device" };
        return Err(io::Error::other(format!("it is {what}, not a file")));
    }
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let mut file = OpenOptions::new().read(true).custom_flags(flags.bits() as i32).open(path)?;
    let room = most.saturating_add(1);
    let mut bytes = vec![0; room.min(FIRST) as usize];
    // A pipe says at its first read whether anybody holds its other end.
    match file.read(&mut bytes) {
        Ok(0) if kind.is_fifo() => return Err(io::Error::other("nobody writes into it")),
        Ok(read) => bytes.truncate(read),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => bytes.clear(),
        Err(error) => return Err(error),
    }
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    file.take(room - bytes.len() as u64).read_to_end(&mut bytes)?;
    let text = String::from_utf8(bytes).map_err(|_| io::Error::other("it is not text"))?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it is longer than {most} bytes")));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

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
        std::fs::write(&path, "fo").unwrap();
        assert_eq!(text(&path, u64::MAX).unwrap(), "fo");
        assert!(refusal(Path::new("/dev/zero")).contains("a device"));
        assert!(refusal(folder.path()).contains("a folder"));
    }

    #[test]
    fn a_pipe_is_read_to_its_end_and_one_without_a_writer_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, 0o600.into(), 0).unwrap();
        assert!(text(&path, 4).unwrap_err().to_string().contains("nobody writes"));
        let (read_end, write_end) = rustix::pipe::pipe().unwrap();
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&read_end));
        let mut write_end = std::fs::File::from(write_end);
        std::thread::scope(|scope| {
            let read = scope.spawn(|| text(Path::new(&path), 4).unwrap());
            write_end.write_all(b"four").unwrap();
            drop(write_end);
            assert_eq!(read.join().unwrap(), "four");
        });
    }
}
