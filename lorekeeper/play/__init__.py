"""What is done at the table: dice and the tables that are rolled on, encounters, what differs between entries."""
