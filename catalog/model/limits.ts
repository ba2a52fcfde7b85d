/** Limits for turning a server's definitions into types. Anything beyond a limit falls back to a wider type. */

/** Levels of objects, arrays and combinations within one declaration. */
export const MAX_TYPE_DEPTH = 32;

/** Levels from the root of a schema, following references, before one is cut. */
export const MAX_REFERENCE_LEVELS = 300;

/** Schemas to visit for one tool's input, and again for its output. */
export const MAX_SCHEMA_NODES = 25_000;

/** Values of one `enum`. */
export const MAX_ENUM_VALUES = 2_000;

/** Combinations that an intersection of unions may expand to. TypeScript gives up at 100,000. */
export const MAX_INTERSECTION_VARIANTS = 512;

/** Optional elements of one tuple, each of which adds an alternative. */
export const MAX_OPTIONAL_ELEMENTS = 8;

/** Length of one description, in characters. */
export const MAX_DESCRIPTION_CHARS = 32_768;

/** Length of all descriptions of one tool, in characters. */
export const MAX_TOOL_DESCRIPTION_CHARS = 262_144;

/** Length of a default value shown in documentation, in characters of JSON. */
export const MAX_DEFAULT_CHARS = 200;

/** Length of an identifier before it is cut and made distinct by a hash. */
export const MAX_IDENTIFIER_CHARS = 64;

/** References to compare when looking for equal definitions of a server. Beyond them, each definition is printed separately. */
export const MAX_COMPARED_REFERENCES = 2_000_000;

/** Nesting of arrays and objects that ptc keeps in a tool's definition. */
export const MAX_DEFINITION_DEPTH = 256;

/** Length of one schema or description that ptc keeps in a tool's definition, in characters of JSON. */
export const MAX_DEFINITION_CHARS = 4 * 1024 * 1024;
