# Homebrew on Linux, of the program that release/build made: what stands between two @ is filled in there.
class Ipcmark < Formula
  desc "@SUMMARY@"
  homepage "@REPOSITORY@"
  url "@REPOSITORY@/releases/download/v@VERSION@/@NAME@.tar.gz"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on arch: :@MACHINE@
  depends_on :linux

  def install
    prefix.install Dir["*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/ipcmark --version")
  end
end
