"""What several test modules share: sample files, fake programs, folders to build in."""
