"""Operations on a library as a whole: backup and restore, migration, repair, diagnosis."""
