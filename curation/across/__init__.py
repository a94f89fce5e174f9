"""What joins several stages: a person is erased, a text is corrected, the ethics sheet."""
