"""The only rooms where a private bit is touched."""
