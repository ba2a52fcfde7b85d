import type { EmittedBlock } from "../../protocol/emitted.ts";
import type { Redactor } from "../../secrets/redaction.ts";

/** The blocks that a program emitted, with secrets removed from their texts. Bytes stay as they were emitted. */
export function redactEmitted(
  blocks: readonly EmittedBlock[],
  redactor: Pick<Redactor, "redactText">,
): { blocks: EmittedBlock[]; redactions: number } {
  let redactions = 0;
  const clean = (text: string) => {
    const { value, count } = redactor.redactText(text);
    redactions += count;
    return value;
  };
  return { blocks: blocks.map((block) => redactBlock(block, clean)), redactions };
}

function redactBlock(block: EmittedBlock, clean: (text: string) => string): EmittedBlock {
  switch (block.type) {
    case "text":
      return { ...block, text: clean(block.text) };
    case "image":
    case "audio":
      return block;
    case "resource": {
      const { resource } = block;
      const named = { ...resource, uri: clean(resource.uri) };
      return { type: "resource", resource: "text" in named ? { ...named, text: clean(named.text) } : named };
    }
    case "resource_link": {
      const { uri, name, title, description } = block;
      return {
        ...block,
        uri: clean(uri),
        name: clean(name),
        ...(title === undefined ? {} : { title: clean(title) }),
        ...(description === undefined ? {} : { description: clean(description) }),
      };
    }
  }
}

/** Describes a block: its name, its type such as `image/png`, and its size in bytes. */
export function describeEmitted(block: EmittedBlock): {
  name: string | undefined;
  what: string;
  bytes: number;
} {
  switch (block.type) {
    case "text":
      return { name: undefined, what: "text", bytes: Buffer.byteLength(block.text) };
    case "image":
    case "audio":
      return { name: undefined, what: block.mimeType, bytes: base64Bytes(block.data) };
    case "resource": {
      const { resource } = block;
      const bytes = "text" in resource ? Buffer.byteLength(resource.text) : base64Bytes(resource.blob);
      return {
        name: nameIn(resource.uri),
        what: resource.mimeType ?? ("text" in resource ? "text" : "bytes"),
        bytes,
      };
    }
    case "resource_link":
      return { name: block.name, what: `link to ${block.uri}`, bytes: 0 };
  }
}

/** The content of a block as a file has it; `undefined` for a link. */
export function contentOf(block: EmittedBlock): Buffer | undefined {
  switch (block.type) {
    case "text":
      return Buffer.from(block.text);
    case "image":
    case "audio":
      return Buffer.from(block.data, "base64");
    case "resource":
      return "text" in block.resource
        ? Buffer.from(block.resource.text)
        : Buffer.from(block.resource.blob, "base64");
    case "resource_link":
      return undefined;
  }
}

/** How many characters of encoded bytes count as text. Nobody reads them, and no other text repeats them. */
const MAX_ENCODED_CHARS = 2_000;

/** The text of a block as a reader sees it. */
export function textOfBlock(block: EmittedBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "image":
    case "audio":
      return block.data.slice(0, MAX_ENCODED_CHARS);
    case "resource": {
      const { resource } = block;
      return `${resource.uri}\n${"text" in resource ? resource.text : resource.blob.slice(0, MAX_ENCODED_CHARS)}`;
    }
    case "resource_link":
      return [block.uri, block.name, block.title, block.description]
        .filter((each) => each !== undefined)
        .join("\n");
  }
}

function base64Bytes(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}

/** The last part of a URI, used as a file name. */
function nameIn(uri: string): string | undefined {
  const last = /[^/?#]+(?=[?#]|$)/.exec(uri)?.[0];
  try {
    return last === undefined ? undefined : decodeURIComponent(last);
  } catch {
    return last;
  }
}
