"""What joins several stages: people leave, texts are corrected, our own pages, the ethics sheet."""
