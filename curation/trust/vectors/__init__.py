"""Word embeddings: their files, and the bias of words in them."""
