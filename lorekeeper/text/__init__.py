"""From entities to text: passages to embed, facts and excerpts to show, words and names to search for."""
