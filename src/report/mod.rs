//! The report: one document model, several renderers.
