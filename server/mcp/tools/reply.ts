/** The result of a tool call: text for the model, and the envelope as structured content. */
export type ToolReply = {
  content: { type: "text"; text: string }[];
  isError?: true;
  _meta?: Record<string, unknown>;
};

export function textReply(text: string): ToolReply {
  return { content: [{ type: "text", text }] };
}

export function errorReply(text: string): ToolReply {
  return { ...textReply(text), isError: true };
}
