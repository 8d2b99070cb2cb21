"""Front ends and the small IR: text, patterns and choices in, `Grammar` values out."""
