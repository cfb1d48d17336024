"""The user's own notes: folders of Markdown files, which are read and never written, kept in step with the library."""
