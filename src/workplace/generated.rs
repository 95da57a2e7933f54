//! Names that lists and file backups always leave out, and snapshots where there is no git.

/// Directories that tools make, or that are not the project's own work. Lists and file backups always leave them out;
/// snapshots do so only where no git says what is ignored. Directories that people write, such as `.github` and
/// `.vscode`, are not among them.
pub const GENERATED: [&str; 38] = [
    "__pycache__",
    "venv",
    "node_modules",
    "dist",
    "build",
    "target",
    "backup",
    "temp",
    "logs",
    "_data",
    ".git",
    ".hg",
    ".svn",
    ".jj",
    ".venv",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".ipynb_checkpoints",
    ".cache",
    ".output",
    ".nuxt",
    ".next",
    ".svelte-kit",
    ".vite",
    ".turbo",
    ".parcel-cache",
    ".angular",
    ".npm",
    ".pnpm-store",
    ".yarn",
    ".gradle",
    ".terraform",
    ".local",
    ".ssh",
    ".gnupg",
];
/// Generated names that may be wanted work as well.
pub(super) const AMBIGUOUS: [&str; 7] =
    ["dist", "build", "target", "backup", "temp", "logs", "_data"];
pub const DESKTOP_FILES: [&str; 2] = [".DS_Store", "Thumbs.db"];
