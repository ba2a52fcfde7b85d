import { createHash } from "node:crypto";

/**
 * HTML that only this file can make, from the constant parts of a template and from escaped text. Text of a run cannot become
 * markup in any other way.
 */
export class Markup {
  readonly text: string;

  private constructor(text: string) {
    this.text = text;
  }

  static template(strings: TemplateStringsArray, values: readonly MarkupValue[]): Markup {
    return new Markup(String.raw({ raw: strings }, ...values.map(render)));
  }

  /** An element whose content browsers do not decode. @throws Error for content that would close the element. */
  static raw(element: "style" | "script", content: string): Markup {
    if (/<[/!]/.test(content)) throw new Error(`the ${element} of a page holds what would end it`);
    return new Markup(`<${element}>${content}</${element}>`);
  }
}

/** Values of a template. Text is escaped; `undefined` renders nothing. */
export type MarkupValue = string | number | undefined | Markup | readonly Markup[];

export function html(strings: TemplateStringsArray, ...values: MarkupValue[]): Markup {
  return Markup.template(strings, values);
}

/** The hash by which a content security policy allows the page's style or script (CSP level 3, section 2.3.1). */
export function hashSource(content: string): string {
  return `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
}

function render(value: MarkupValue): string {
  if (value === undefined) return "";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return escapeText(makeVisible(value));
  if (value instanceof Markup) return value.text;
  return value.map((each) => each.text).join("");
}

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? "");
}

/** Replaces invisible and reordering characters: control characters by their pictures, others by U+FFFD. */
function makeVisible(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replaceAll(/[\p{Cc}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (character) => {
      if (character === "\n" || character === "\t") return character;
      const code = character.charCodeAt(0);
      if (code < 0x20) return String.fromCharCode(0x2400 + code);
      return code === 0x7f ? "\u2421" : "\ufffd";
    });
}
