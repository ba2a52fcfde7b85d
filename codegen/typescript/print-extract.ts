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

/** What a JSON Schema describes that is written as a literal: at most twelve levels of it, and any where it cannot be told. */
type ExtractSchema<S, Defs, Levels extends 0[] = []> = Levels["length"] extends 12 ? any
  : S extends { readonly $ref: infer Ref } ?
      Ref extends \`#/$defs/\${infer Name}\` ? Name extends keyof Defs ? ExtractSchema<Defs[Name], Defs, [...Levels, 0]> : any : any
  : S extends { readonly const: infer A } ? A
  : S extends { readonly enum: readonly (infer A)[] } ? A
  : S extends { readonly anyOf: readonly (infer A)[] } ? ExtractSchema<A, Defs, [...Levels, 0]>
  : S extends { readonly oneOf: readonly (infer A)[] } ? ExtractSchema<A, Defs, [...Levels, 0]>
  : S extends { readonly allOf: any } ? any
  : S extends { readonly type: readonly (infer Kind)[] } ? ExtractKind<Kind, S, Defs, Levels>
  : S extends { readonly type: infer Kind } ? ExtractKind<Kind, S, Defs, Levels>
  : any;
type ExtractKind<Kind, S, Defs, Levels extends 0[]> = Kind extends "string" ? string
  : Kind extends "number" | "integer" ? number
  : Kind extends "boolean" ? boolean
  : Kind extends "null" ? null
  : Kind extends "array" ? S extends { readonly prefixItems: any } ? any[]
    : S extends { readonly items: infer Item } ? ExtractSchema<Item, Defs, [...Levels, 0]>[] : any[]
  : Kind extends "object" ? ExtractMembers<S, Defs, [...Levels, 0]>
  : any;
type ExtractMembers<S, Defs, Levels extends 0[]> =
  S extends { readonly properties: infer P } ? [keyof P] extends [never] ? { [name: string]: any }
    : { -readonly [K in keyof P as K extends ExtractRequired<S> ? K : never]: ExtractSchema<P[K], Defs, Levels> }
      & { -readonly [K in keyof P as K extends ExtractRequired<S> ? never : K]?: ExtractSchema<P[K], Defs, Levels> }
      & (S extends { readonly additionalProperties: infer More } ? More extends false ? {} : { [name: string]: any } : {})
  : S extends { readonly additionalProperties: infer More } ? More extends boolean ? { [name: string]: any }
    : { [name: string]: ExtractSchema<More, Defs, Levels> }
  : { [name: string]: any };
type ExtractRequired<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

/** What \`extract\` gives for a type. */
type Extracted<T> = T extends string ? ExtractWords<T>
  : T extends readonly [infer Item] ? Extracted<Item>[]
  : T extends { readonly type: "object" | "array" } ? ExtractSchema<T, T extends { readonly $defs: infer Defs } ? Defs : {}>
  : T extends { readonly type: infer Kind } ? string extends Kind ? any : ExtractedMembers<T>
  : ExtractedMembers<T>;
type ExtractedMembers<T> =
  { -readonly [K in keyof T as K extends \`\${string}?\` ? never : K]: Extracted<T[K]> }
    & { -readonly [K in keyof T as K extends \`\${infer Name}?\` ? Name : never]?: Extracted<T[K]> };

/**
 * Coerces a text, or other data, to a type through a model. What it gives fits the type; whether it is true nobody has checked.
 * A type is a word ("string", "number | null", "'open' | 'closed'"), a list with the type of its items (["string"]), an object
 * with the types of its members ({ name: "string", "phone?": "string" }), or a JSON Schema of an object or an array.
 */
declare function extract<const T extends string | readonly unknown[] | object>(value: unknown, type: T): Promise<Extracted<T>>;
`;
