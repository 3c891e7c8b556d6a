#include "record/report_style.h"

#include <string_view>

namespace holdfast::record {

namespace {

// People who cannot tell red from green can tell these colours apart, in both themes.
constexpr std::string_view kStyle = R"(
:root { --page:#fbfbfa; --ink:#1c1d1f; --quiet:#63666b; --line:#dcdde0; --card:#ffffff;
  --live:#2a78b5; --memory:#6fb3dd; --below:#9d86c9; --missed:#d9622b; --fresh:#b9bcc2;
  --queued:#e2c14c; --changed:#b0407f; --good:#2a7a50; --bad:#b3382c; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --page:#17181a; --ink:#e7e8ea; --quiet:#9a9ea5;
  --line:#34363a; --card:#1f2023; --live:#4a9bd8; --memory:#2f6d97; --below:#8b72bd;
  --missed:#ee7d43; --fresh:#5b5f66; --queued:#c9a93a; --changed:#cf6aa6; --good:#66c191; --bad:#f0796c; } }
* { box-sizing:border-box }
body { margin:0; background:var(--page); color:var(--ink);
  font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif }
main { max-width:1120px; margin:0 auto; padding:28px 24px 60px }
h1 { font-size:26px; margin:0 0 4px } h2 { font-size:18px; margin:36px 0 8px }
p { margin:6px 0 } .quiet { color:var(--quiet) } .good { color:var(--good) } .bad { color:var(--bad) }
.tiles { display:grid; grid-template-columns:repeat(auto-fit,minmax(150px,1fr)); gap:10px; margin:18px 0 }
.tile { background:var(--card); border:1px solid var(--line); border-radius:8px; padding:12px 14px }
.tile b { display:block; font-size:21px; font-variant-numeric:tabular-nums }
.tile span { color:var(--quiet); font-size:13px }
.legend { display:flex; flex-wrap:wrap; gap:4px 18px; font-size:13px; margin-top:14px }
.legend svg { vertical-align:-1px }
.chart { display:flex; gap:8px; background:var(--card); border:1px solid var(--line); border-radius:8px;
  padding:14px 14px 8px; overflow-x:auto; margin-bottom:10px }
.scale { display:flex; flex-direction:column; justify-content:space-between; text-align:right;
  font-size:11px; color:var(--quiet); position:sticky; left:-14px; background:var(--card);
  padding:0 6px 0 14px; margin-left:-14px; white-space:nowrap; font-variant-numeric:tabular-nums }
.chart > svg { display:block; flex:none }
.live { fill:var(--live) } .memory { fill:var(--memory) } .below { fill:var(--below) }
.missed { fill:var(--missed) } .changed { fill:var(--changed) } .fresh { fill:var(--fresh) } .queued { fill:var(--queued) }
.grid { stroke:var(--line); stroke-width:1 }
.pick { fill:transparent } .pick:hover { fill:var(--ink); fill-opacity:.12 }
a { color:inherit } table { border-collapse:collapse; width:100%; font-size:13.5px; background:var(--card) }
th { text-align:left; font-weight:600; color:var(--quiet); border-bottom:1px solid var(--line);
  padding:6px 8px; white-space:nowrap }
td { border-bottom:1px solid var(--line); padding:5px 8px; vertical-align:top }
th.n { text-align:right } td.n { text-align:right; white-space:nowrap; font-variant-numeric:tabular-nums }
.wide { overflow-x:auto } tr:target td { background:color-mix(in srgb, var(--queued) 25%, transparent) }
)";

}  // namespace

std::string report_head(const std::string& title) {
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "style-src 'unsafe-inline'\">"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
         "<title>" +
         title + "</title><style>" + std::string(kStyle) + "</style></head><body><main>\n";
}

}  // namespace holdfast::record
