import { builtinModules } from "node:module";

/** Globals of Node.js that are not part of JavaScript, for the sandbox's version. Listing newer ones is harmless. */
const NODE_GLOBALS = `
AbortController AbortSignal Blob BroadcastChannel Buffer ByteLengthQueuingStrategy CloseEvent CompressionStream
CountQueuingStrategy Crypto CryptoKey CustomEvent DOMException DecompressionStream Event EventSource EventTarget File
FormData Headers MessageChannel MessageEvent MessagePort Navigator Performance PerformanceEntry PerformanceMark
PerformanceMeasure PerformanceObserver PerformanceObserverEntryList PerformanceResourceTiming QuotaExceededError
ReadableByteStreamController ReadableStream ReadableStreamBYOBReader ReadableStreamBYOBRequest
ReadableStreamDefaultController ReadableStreamDefaultReader Request Response Storage SubtleCrypto TextDecoder
TextDecoderStream TextEncoder TextEncoderStream TransformStream TransformStreamDefaultController URL URLPattern
URLSearchParams WebAssembly WebSocket WritableStream WritableStreamDefaultController WritableStreamDefaultWriter atob btoa
clearImmediate clearInterval clearTimeout console crypto fetch gc global localStorage navigator performance process
queueMicrotask require sessionStorage setImmediate setInterval setTimeout structuredClone`;

/**
 * Declares the globals of Node.js. Their type is `any`, because the check is about tools, and strict typings would reject
 * programs that work.
 */
export const NODE_DECLARATIONS = [
  ...NODE_GLOBALS.trim()
    .split(/\s+/)
    .map((name) => `declare var ${name}: any;`),
  "interface ImportMeta { [name: string]: any }",
  'declare module "node:*";',
  ...builtinModules.map((name) => `declare module ${JSON.stringify(name)};`),
  "",
].join("\n");
