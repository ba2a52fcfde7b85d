import type { NamedTool } from "../protocol/tool-names.ts";

/** A tool as its generated module declares it. */
export interface DeclaredTool extends NamedTool {
  /** Name of the type of its argument, as the module declares it. */
  input: string;
  /** Name of the type of what it returns. */
  output: string;
  /** Whether that type was observed and not declared: what contradicts it may be right. */
  isObserved: boolean;
  /** Whether it returns what its server wraps as `{result: ...}`. */
  isUnwrapped: boolean;
  /**
   * Its properties, by the names of the parameters that stand for them, where a language has named parameters and a property's
   * name cannot be one.
   */
  parameters?: Readonly<Record<string, string>>;
  /** Whether programs may call it. */
  isAvailable: boolean;
  /** Where the module's text declares it, in UTF-16 code units. */
  start: number;
  end: number;
  /** Its signature on one line, without comments, cut where it is very long. */
  signature(): string;
}

/** A server's generated module, with what is known of its tools. */
export interface GeneratedModule {
  /** Its source. */
  text: string;
  /** Its tools, in the order of the text. */
  tools: readonly DeclaredTool[];
  /** The text as it is archived: it says itself which tools programs may not call. */
  archived: string;
}
