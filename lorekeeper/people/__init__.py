"""The people at the table: who they are, the tokens they show, and logins at an issuer of access tokens."""
