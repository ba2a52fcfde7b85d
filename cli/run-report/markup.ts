import { createHash } from "node:crypto";

/**
 * HTML that only this file can make: from the constant parts of a template, and from text that was escaped. Nothing of a
 * run becomes markup any other way.
 */
export class Markup {
  readonly text: string;

  private constructor(text: string) {
    this.text = text;
  }

  static template(strings: TemplateStringsArray, values: readonly MarkupValue[]): Markup {
    return new Markup(String.raw({ raw: strings }, ...values.map(render)));
  }

  /** An element whose content no parser decodes. @throws Error for content that would end it. */
  static raw(element: "style" | "script", content: string): Markup {
    if (/<[/!]/.test(content)) throw new Error(`the ${element} of a page holds what would end it`);
    return new Markup(`<${element}>${content}</${element}>`);
  }
}

/** Text is escaped; `undefined` is nothing. */
export type MarkupValue = string | number | undefined | Markup | readonly Markup[];

export function html(strings: TemplateStringsArray, ...values: MarkupValue[]): Markup {
  return Markup.template(strings, values);
}

/** What the page's own style and script are let through by (CSP level 3, section 2.3.1). */
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

/** Shows what would be invisible or reorder the text around it: control characters by their pictures, others as U+FFFD. */
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
