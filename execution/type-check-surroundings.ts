import { builtinModules } from "node:module";

/** Node's globals that are not part of JavaScript, as of the sandbox's Node.js. Newer ones do no harm. */
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
 * Declarations of what Node.js puts around a program. They are any: the check is about tools, and typings that are too
 * strict would stop programs that run.
 */
export const SURROUNDINGS = [
  ...NODE_GLOBALS.trim()
    .split(/\s+/)
    .map((name) => `declare var ${name}: any;`),
  "interface ImportMeta { [name: string]: any }",
  'declare module "node:*";',
  ...builtinModules.map((name) => `declare module ${JSON.stringify(name)};`),
  "",
].join("\n");
