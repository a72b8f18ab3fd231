"""treetune inside other libraries; each is imported by the module that needs it."""
