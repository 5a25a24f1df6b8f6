"""Sources turn what a scheduler says into events: parsers are pure, bytes in and named readings out."""
