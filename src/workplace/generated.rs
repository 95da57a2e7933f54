//! Names that no list and no copy has, whatever a project says.

/// Directories that tools make or that are none of a project's own work. Lists and backups leave them out everywhere,
/// snapshots where there is no git to say what is ignored. What people write, such as `.github` and `.vscode`, is not
/// among them.
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
/// Those of them that people may have asked for as well.
pub(super) const AMBIGUOUS: [&str; 7] =
    ["dist", "build", "target", "backup", "temp", "logs", "_data"];
pub const DESKTOP_FILES: [&str; 2] = [".DS_Store", "Thumbs.db"];
