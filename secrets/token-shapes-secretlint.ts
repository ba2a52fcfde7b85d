/**
 * Shapes of tokens, written by scripts/token-shapes.ts from @secretlint/secretlint-rule-preset-recommend 13.0.7: not to be edited.
 *
 * Copyright (c) 2020 azu, under the MIT licence: permission is granted, free of charge, to any person obtaining a copy of this
 * software and associated documentation files, to deal in the Software without restriction, including without limitation
 * the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, subject to this:
 * the above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.
 * The Software is provided "as is", without warranty of any kind, express or implied, including but not limited to the
 * warranties of merchantability, fitness for a particular purpose and noninfringement. In no event shall the authors or
 * copyright holders be liable for any claim, damages or other liability, whether in an action of contract, tort or otherwise,
 * arising from, out of or in connection with the Software or the use or other dealings in the Software.
 */
// biome-ignore format: one line for one pattern
export const SECRETLINT_SHAPES = [
  { kind: "aws-token", anchors: ["AKIA", "ASIA"], pattern: /(A3T[A-Z0-9]|AKIA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA|ASIA)[A-Z0-9]{16}\b/ },
  { kind: "npm-token", anchors: ["npm_"], pattern: /npm_[A-Za-z0-9_]{36}(?![A-Za-z0-9_])/ },
  { kind: "slack-token", anchors: ["xoxb-", "xoxp-", "xapp-", "xoxa-", "xoxo-", "xoxr-"], pattern: /(?:xoxb|xoxp|xapp|xoxa|xoxo|xoxr)-(?:\d-)?(?:[a-zA-Z0-9]{1,40}-)+[a-zA-Z0-9]{1,40}\b/ },
  { kind: "slack-token", anchors: ["https://hooks.slack.com/services/T"], pattern: /https:\/\/hooks\.slack\.com\/services\/T[a-zA-Z0-9]{1,40}\/B[a-zA-Z0-9]{1,40}\/[a-zA-Z0-9]{1,40}/ },
  { kind: "shopify-token", anchors: ["shppa_", "shpca_", "shpat_", "shpss_"], pattern: /(shppa|shpca|shpat|shpss)_[a-zA-Z0-9]{32,64}(?![a-zA-Z0-9])/ },
  { kind: "stripe-token", anchors: ["sk_live_", "sk_test_", "rk_live_", "rk_test_"], pattern: /(?<prefix>sk_live|sk_test|rk_live|rk_test)_[a-zA-Z0-9]{24,99}(?![a-zA-Z0-9])/ },
  { kind: "github-token", anchors: ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], pattern: /(?<type>ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9_]{36}(?![A-Za-z0-9_])/ },
  { kind: "github-token", anchors: ["github_pat_"], pattern: /(?<type>github_pat)_[A-Za-z0-9_]{82}(?![A-Za-z0-9_])/ },
  { kind: "github-token", anchors: ["ghs_"], pattern: /(?<type>ghs)_[0-9]{1,20}_[A-Za-z0-9_-]{1,1000}\.[A-Za-z0-9_-]{1,10000}\.[A-Za-z0-9_-]{1,1000}(?![A-Za-z0-9_-])/ },
  { kind: "gitlab-token", anchors: ["glpat-"], pattern: /glpat-[A-Za-z0-9_-]{20,128}(?![A-Za-z0-9_-])/ },
  { kind: "grafana-token", anchors: ["glc_"], pattern: /glc_[A-Za-z0-9+/]{32,400}={0,2}(?![A-Za-z0-9+/=])/ },
  { kind: "grafana-token", anchors: ["glsa_"], pattern: /glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}(?![A-Fa-f0-9])/ },
  { kind: "openai-token", anchors: ["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-"], pattern: /sk-(?:proj|svcacct|admin)-(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})T3BlbkFJ(?:[A-Za-z0-9_-]{74}|[A-Za-z0-9_-]{58})\b|sk-[a-zA-Z0-9]{20}T3BlbkFJ[a-zA-Z0-9]{20}/ },
  { kind: "anthropic-token", anchors: ["sk-ant-api0"], pattern: /sk-ant-api0\d-[A-Za-z0-9_-]{90,128}AA(?![A-Za-z0-9_-])/ },
  { kind: "groq-token", anchors: ["gsk_"], pattern: /gsk_[a-zA-Z0-9]{52}(?![a-zA-Z0-9])/ },
  { kind: "huggingface-token", anchors: ["hf_"], pattern: /hf_[a-zA-Z]{34}(?![a-zA-Z])/ },
  { kind: "linear-token", anchors: ["lin_api_"], pattern: /lin_api_[a-zA-Z0-9_]{32,128}(?![a-zA-Z0-9_])/ },
  { kind: "notion-token", anchors: ["ntn_"], pattern: /ntn_[0-9]{11}[A-Za-z0-9]{35}(?![A-Za-z0-9])/ },
  { kind: "1password-token", anchors: ["ops_"], pattern: /ops_(ey[A-Za-z0-9+/=]{100,1280}fQ={0,2})(?![A-Za-z0-9+/=])/ },
  { kind: "hashicorp-vault-token", anchors: ["hvs."], pattern: /hvs\.[A-Za-z0-9_-]{90,120}(?![A-Za-z0-9_-])/ },
  { kind: "hashicorp-vault-token", anchors: ["hvb."], pattern: /hvb\.[A-Za-z0-9_-]{138,300}(?![A-Za-z0-9_-])/ },
  { kind: "hashicorp-vault-token", anchors: ["hvr."], pattern: /hvr\.[A-Za-z0-9_-]{90,120}(?![A-Za-z0-9_-])/ },
  { kind: "vercel-token", anchors: ["vcp_", "vci_", "vca_", "vcr_", "vck_"], pattern: /(?<prefix>vcp|vci|vca|vcr|vck)_[A-Za-z0-9]{20,60}(?![A-Za-z0-9])/ },
  { kind: "databricks-token", anchors: ["dapi"], pattern: /dapi[A-Fa-f0-9]{32}(?:-[0-9])?(?![A-Fa-f0-9])/ },
  { kind: "docker-token", anchors: ["dckr_pat_"], pattern: /dckr_pat_[a-zA-Z0-9_-]{27}(?![a-zA-Z0-9_-])/ },
  { kind: "figma-token", anchors: ["figd_"], pattern: /figd_[A-Za-z0-9_-]{40,200}(?![A-Za-z0-9_-])/ },
  { kind: "cloudflare-token", anchors: ["cfk_", "cfut_", "cfat_"], pattern: /(?<prefix>cfk|cfut|cfat)_[A-Za-z0-9]{40}[0-9a-f]{8}(?![A-Za-z0-9])/ },
  { kind: "tailscale-token", anchors: ["tskey-"], pattern: /tskey-(?<type>[a-z]{2,20})-[0-9A-Za-z_]{8,40}-[0-9A-Za-z_]{16,60}(?![0-9A-Za-z_])/ },
];
