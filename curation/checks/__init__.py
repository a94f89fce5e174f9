"""What can be checked of an answer or a CAT: the ground floor of pitfalls."""
