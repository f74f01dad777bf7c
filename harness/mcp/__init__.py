"""An MCP server: read-only commands of the harness as tools of an agent, confined to folders."""
