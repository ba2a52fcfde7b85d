/** How a configured server is started or reached. */
export type McpServerTarget = {
  readonly name: string;
  /** The account with which it is reached, for messages, if it has accounts. */
  readonly account?: string | undefined;
} & (
  | {
      readonly transport: "stdio";
      readonly command: string;
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string;
    }
  | {
      readonly transport: "http" | "sse";
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    }
);

/** The same server with these environment variables or headers. */
export function withCredentials(
  target: McpServerTarget,
  values: Readonly<Record<string, string>>,
): McpServerTarget {
  return target.transport === "stdio" ? { ...target, env: values } : { ...target, headers: values };
}
