/** A value of a form's field. */
export type FormValue = string | number | bigint | boolean | readonly string[];

export interface FormOption {
  readonly value: string;
  /** Shown to a person instead of the value. */
  readonly title: string;
}

/** A field of a form (MCP 2025-11-25 and 2026-07-28, "Requested Schema"). */
export type FormField = {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly isRequired: boolean;
} & (
  | {
      readonly kind: "text";
      readonly minLength: number | undefined;
      readonly maxLength: number | undefined;
      readonly format: "email" | "uri" | "date" | "date-time" | undefined;
      readonly byDefault: string | undefined;
    }
  | {
      readonly kind: "number";
      readonly isInteger: boolean;
      readonly minimum: number | undefined;
      readonly maximum: number | undefined;
      readonly byDefault: number | undefined;
    }
  | { readonly kind: "boolean"; readonly byDefault: boolean | undefined }
  | {
      readonly kind: "choice";
      readonly options: readonly FormOption[];
      readonly byDefault: string | undefined;
    }
  | {
      readonly kind: "choices";
      readonly options: readonly FormOption[];
      readonly minItems: number | undefined;
      readonly maxItems: number | undefined;
      readonly byDefault: readonly string[] | undefined;
    }
);

/** A server's request to fill in a form or to visit a URL. All texts are the server's: visible, bounded, without secrets. */
export type Elicitation =
  | { readonly mode: "form"; readonly message: string; readonly fields: readonly FormField[] }
  | {
      readonly mode: "url";
      readonly message: string;
      readonly url: string;
      readonly host: string;
      /** Settles when the person has finished there, if ptc can know that. Until then, the person counts as being asked. */
      readonly visited?: Promise<unknown>;
    };

/** A server's question during a call. */
export type ServerElicitation = Elicitation & {
  /** The configured name of the server. */
  readonly server: string;
  /** The tool during whose call the server asks; `undefined` if the server does not say. */
  readonly tool: string | undefined;
};

/** A server's question to the person for whom a program runs. */
export type ElicitationRequest = ServerElicitation & { readonly runId: string };

/** The person's answer. */
export type ElicitationAnswer =
  | { readonly action: "accept"; readonly values: Readonly<Record<string, FormValue>> }
  | { readonly action: "decline" | "cancel" }
  /** Nobody can be asked, or the answer is not valid; `why` is phrased to follow "and". */
  | { readonly action: "unasked"; readonly why?: string };

/** The answer if nobody can be asked. */
export const NOT_ASKED: ElicitationAnswer = { action: "unasked" };
