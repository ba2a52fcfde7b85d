/** What programs ask a model with, where one is configured: the same text whatever the model is. */
export const EXTRACT_DECLARATIONS = `/** A type in words: "string", "number", "integer", "boolean", "null", "date", "datetime", "any", "'a' | 'b'", "string[]". */
type ExtractWords<T> = T extends \`\${infer A}|\${infer B}\` ? ExtractWords<A> | ExtractWords<B>
  : T extends \` \${infer A}\` | \`\${infer A} \` ? ExtractWords<A>
  : T extends \`\${infer A}[]\` ? ExtractWords<A>[]
  : T extends "string" | "date" | "datetime" ? string
  : T extends "number" | "integer" ? number
  : T extends "boolean" ? boolean
  : T extends "null" ? null
  : T extends \`'\${infer A}'\` | \`"\${infer A}"\` ? A
  : any;

/** What \`extract\` gives for a type. */
type Extracted<T> = T extends string ? ExtractWords<T>
  : T extends readonly [infer Item] ? Extracted<Item>[]
  : T extends { readonly type: "object" | "array" } ? any
  : { -readonly [K in keyof T as K extends \`\${string}?\` ? never : K]: Extracted<T[K]> }
    & { -readonly [K in keyof T as K extends \`\${infer Name}?\` ? Name : never]?: Extracted<T[K]> };

/**
 * Coerces a text, or other data, to a type through a model. What it gives fits the type; whether it is true nobody has checked.
 * A type is a word ("string", "number | null", "'open' | 'closed'"), a list with the type of its items (["string"]), an object
 * with the types of its members ({ name: "string", "phone?": "string" }), or a JSON Schema of an object or an array.
 */
declare function extract<const T extends string | readonly unknown[] | object>(value: unknown, type: T): Promise<Extracted<T>>;
`;
