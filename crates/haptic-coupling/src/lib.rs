//! Hand and tool.
