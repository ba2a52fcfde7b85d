/** Saved programs. Written by `ptc generate`: edits are lost. */
export * from "../servers/programs/index.js";
