#!/usr/bin/env bash
# Runs real coding agents from npm against a server: scripts/agents.sh BUILD_FOLDER
# First with a scripted model that calls tools, then with the pocket model, then with a slow prompt:
# half a minute, or as many seconds as AGENT_SLOW says (600: longer than the agents wait for a silent
# stream by themselves). AGENTS=claude,pi chooses some of them.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath "$1")
scripts/client_packages.sh
scripts/agent_packages.sh all
export HOLDFAST_BIN=$folder/holdfast SCRIPTED_SERVER=$folder/tests/scripted_server
export AGENTS=${AGENTS:-claude,codex,opencode,pi,qwen,cline,continue}
export HOLDFAST_TEST_TIMEOUT_MS=1800000 AGENT_TURN_LIMIT_MS=900000
tests/clients/run.sh ../agents/scripted.test.mjs
tests/clients/run.sh ../agents/pocket.test.mjs
tests/clients/run.sh ../agents/idle.test.mjs
