/** Extensions of MCP that ptc speaks both as a client and as a server. */

/** Under this name a server declares that it has skills (SEP-2640). */
export const SKILLS_EXTENSION = "io.modelcontextprotocol/skills";
