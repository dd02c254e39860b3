# Nix, built from the sources around this file: nix-build release/default.nix
{ pkgs ? import <nixpkgs> { } }:
let
  about = (pkgs.lib.importTOML ../Cargo.toml).workspace.package;
in
pkgs.rustPlatform.buildRustPackage {
  pname = "ipcmark";
  version = about.version;
  src = pkgs.lib.cleanSource ../.;
  cargoLock.lockFile = ../Cargo.lock;
  # The tests measure, and look for what a build's sandbox lacks.
  doCheck = false;
  meta = {
    description = "Measures how processes talk to each other, and says how sure it is";
    homepage = about.repository;
    license = with pkgs.lib.licenses; [ mit asl20 ];
    mainProgram = "ipcmark";
    platforms = pkgs.lib.platforms.linux;
  };
}
