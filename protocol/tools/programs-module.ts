/** The module of saved programs, which stand in the catalog as the tools of a server of this name. */
export const PROGRAMS_MODULE = "programs";
