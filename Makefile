# Every command of this project; each calls the tool of one part. `make` alone lists them.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
NPM := npm --prefix legacy-node --loglevel=error
LIVE := npm --prefix dashboards/live --loglevel=error
# Tools of setup.sh; and Debian installs nginx in a folder that only root's PATH has.
export PATH := $(CURDIR)/target/tools/bin:$(PATH):/usr/sbin:/sbin
CARVE := target/plain/carve
LOAD := target/plain/load
PLAIN := $(CARGO) build --profile plain
# All that the README's commands run, in one build: no crate is compiled twice.
DEMONSTRATION := $(PLAIN) --no-default-features --features qr-service/api \
	$(foreach package,carve qr-service relay-service loadtest,-p $(package)) \
	$(foreach program,carve qr-service relay-service relay-home load,--bin $(program))
SETUP := deploy/setup.sh
# In measurements only nginx logs every request, as on a cluster; with `make up` qr-service does so too.
AS_ON_A_CLUSTER := QR_ACCESS_LOG=errors
# The program that copies the legacy app's links: here, with the stack's data, or in the cluster's pod.
LINKS = $(if $(KUBECTL),$(KUBECTL) -n qr exec -i deployment/legacy-node -- node src/links.js,DATA_DIR=$${STACK_RUN_DIR:-run}/data/legacy-node node legacy-node/src/links.js)

# Renders all files that are made from route files; with CHECK=--check, only checks them.
define RENDER
carve=target/debug/carve
$$carve render --to deploy/k8s/base/proxy --only relay.toml $(CHECK) \
	--address 127.0.0.1:3002=legacy-relay:3002 --address 127.0.0.1:42090=relay-service:42090 \
	--address 127.0.0.1:42092=relay-home-0:42092 --address 127.0.0.1:42093=relay-home-0:42093 \
	--address 127.0.0.1:42094=relay-home-1:42092 --address 127.0.0.1:42095=relay-home-1:42093
$$carve schema $(CHECK) proxy/routes/route.schema.json
$$carve schema $(CHECK) proxy/routes/carve.schema.json
endef

# The programs that write or describe generated files. Built with the features of tests, so that nothing is compiled
# twice.
GENERATORS := $(CARGO) build --quiet --workspace --all-features --example bindgen \
	$(foreach program,carve qr-service relay-service relay-home,--bin $(program))
PYTHON := target/tools/python/bin/python

# For measurements: builds qr-service as in production, with the arguments $(1), and at the same time the programs
# around it, with the arguments $(2). Puts all into target/measure.
define build
echo "building what is measured: up to 10 minutes the first time"
$(CARGO) build --quiet --profile plain --no-default-features --features loadtest/servers -p loadtest --bins $(2) &
$(CARGO) build --quiet --release -p qr-service $(1)
wait $$!
mkdir -p target/measure/examples
for program in ladder chaos carve relay-service relay-home; do
	test ! -x target/plain/$$program || ln -f target/plain/$$program target/measure/
done
ln -f target/release/qr-service target/measure/
test ! -x target/release/examples/static_answer || ln -f target/release/examples/static_answer target/measure/examples/
endef

# The row with the article's function has a separate program: the released one does not contain that function.
define build_article
$(CARGO) build --quiet --release -p qr-service --bin qr-service --no-default-features --features reference
mkdir -p target/measure
ln -f target/release/qr-service target/measure/axum-article
endef

# Builds the servers of the floors. Removes those of an earlier build first: what cannot be built must not be measured.
define build_floors
mkdir -p target/floors
find target/floors -maxdepth 1 -type f -delete
rust=target/floors/rust/release
if $(CARGO) build --quiet --locked --release --bins --examples --manifest-path loadtest/floors/rust/Cargo.toml \
	--target-dir target/floors/rust; then
	ln $$rust/{hyper,hyper-threads,hyper-threads-shared,axum,actix-web,examples/libbridge.a} target/floors/
else
	echo "floors: rows in Rust are left out, and go-hyper: they need Rust 1.95" >&2
fi
for server in nethttp fasthttp gohyper; do
	go build -C loadtest/floors/go -o "$$PWD/target/floors/$$server" "./$$server" ||
		echo "floors: the row of $$server is left out: it needs Go 1.26, gohyper also cc and hyper" >&2
done
endef

##@ The stack on this machine

up: ## start everything; ROUTES=folder OLD=url NEW=url: only the edge, around your servers
	@$(SETUP) $(if $(OLD),around,run)
	$(if $(OLD),$(PLAIN) -p carve,$(DEMONSTRATION))
	export STACK_OLD_WORKERS=$${STACK_OLD_WORKERS:-$$(nproc)}
	$(CARVE) up $(if $(ROUTES),'$(ROUTES)') $(if $(OLD),--old '$(OLD)',--parts deploy/demonstration.toml) $(if $(NEW),--new '$(NEW)')

down: ## stop everything; data stays
	@test ! -x $(CARVE) || $(CARVE) down

status: $(CARVE) ## running parts, and each route's share, run and gates; ROUTE=name: only this route
	@$(CARVE) status $(ROUTE)

logs: $(CARVE) ## the last lines of all logs; PART=nginx for one, FOLLOW=1 to follow
	@$(CARVE) logs $(if $(FOLLOW),--follow) $(PART)

split: $(CARVE) ## send PERCENT=25 of a route to the new side; ROUTE=name if there are several
	@$(CARVE) split $(ROUTE) $(PERCENT) $(ARGS)

ramp: $(CARVE) ## move a route step by step, with gates: ROUTE=name ARGS='--steps 1,5,25 --hold 60s'
	@$(CARVE) ramp $(ROUTE) $(ARGS)

rollback: $(CARVE) ## send all of a route to the old side, until make clear; ROUTE=name REASON=why
	@$(CARVE) rollback $(ROUTE) $(if $(REASON),--reason '$(REASON)')

# plan prints how long a ramp takes; the others control a run from another shell. clear ends a rollback; the share stays
# 0.
plan pause resume abort: $(CARVE)
	@$(CARVE) $@ $(ROUTE) $(ARGS)
clear: $(CARVE)
	@$(CARVE) clear $(ROUTE) $(if $(REASON),--reason '$(REASON)')

compare: $(CARVE) ## send FILE=requests.txt to both sides, and print differences; ROUTE=name
	@test -n "$(FILE)" || { echo "usage: make compare FILE=requests.txt [ROUTE=name]" >&2; exit 2; }
	$(CARVE) compare $(ROUTE) '$(FILE)'

$(CARVE):
	@echo "nothing is built yet; make up builds and starts it" >&2
	exit 1

##@ Work on it

setup: ## install what make lint and make test need; setup-languages: what examples/rungs needs
	@$(SETUP) test

setup-languages:
	@$(SETUP) load languages
	$(MAKE) bindings
	examples/rungs/build.sh

lint: CHECK := --check
lint: ## check formatting, lints, manifests, rules and generated files
	@$(SETUP) test
	$(CARGO) fmt --check
	$(CARGO) clippy --quiet --workspace --all-targets --all-features -- -D warnings
	$(GENERATORS)
	$(RENDER)
	docs/reference/render.py
	docs/site.py --check
	docs/versions.py
	docs/modules.py >/dev/null
	$(NPM) run lint
	$(LIVE) run lint
	legacy-node/node_modules/.bin/biome ci --error-on-warnings --config-path=legacy-node dashboards/grafana/*.mjs \
		qr-service/api/page qr-service/api/clients loadtest/floors loadtest/peers examples/rungs/node
	node dashboards/grafana/lint.mjs
	promtool check config dashboards/prometheus/prometheus.yml
	promtool check rules dashboards/prometheus/rules/*.yml
	promtool test rules dashboards/prometheus/tests/*.yml
	shellcheck -x .ci/run examples/rungs/run $$(git ls-files '*.sh')
	target/tools/python/bin/hadolint $$(git ls-files '*Dockerfile')
	target/tools/python/bin/zizmor --offline --quiet .github/workflows
	$(PYTHON) deploy/k8s/check.py
	PYTHONPATH=deploy/k8s $(PYTHON) deploy/k8s/tests/manifest_rules.py
	deploy/programs.py
	$(PYTHON) deploy/k8s/tests/start.py

test: ## run the tests that a change needs, including pages in Chromium
	@$(SETUP) test
	$(MAKE) bindings PROFILE=dev
	$(CARGO) nextest run --workspace --all-features $(ARGS)

test-all: ## run every test, an hour; PART=rust: only one part; CONTRIBUTING.md lists them
	@$(SETUP) all
	for part in $(or $(PART),rust docs bindings manifests fuzz mutants newcomer measure); do
		echo "test-all: $$part"
		$(MAKE) all-$$part
	done

# Includes the tests of make test: some only fail when others run at the same time.
all-rust:
	$(MAKE) bindings PROFILE=dev
	REQUESTS=100000 $(CARGO) nextest run --workspace --all-features --profile all $(ARGS)

all-docs:
	$(CARGO) test --quiet --doc --workspace --all-features
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --workspace --no-deps --all-features
	# Finds what a registry would refuse, without compiling the two crates as `cargo publish --dry-run` would.
	$(CARGO) package --quiet --offline --no-verify --allow-dirty -p qr-core -p qr-options
	$(CARGO) fmt --check --all --manifest-path loadtest/floors/rust/Cargo.toml
	$(CARGO) fmt --check --manifest-path qr-service/bindings/wasm/component/Cargo.toml
	test -z "$$(gofmt -l loadtest/floors/go examples/rungs/go)"

# Builds the bindings as they are released, which takes too long for make test.
all-bindings:
	export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
	$(MAKE) setup-languages
	npm --prefix qr-service/bindings/node --loglevel=error test
	qr-service/bindings/wasm/test.sh
	target/tools/wheel/bin/pip install --quiet --disable-pip-version-check --no-index --force-reinstall target/wheels/qr_fast-*.whl
	target/tools/wheel/bin/pytest --quiet -p no:cacheprovider qr-service/bindings/python/test
	$(CARGO) nextest run --workspace --all-features --profile released

all-manifests:
	target/tools/bin/actionlint
	$(PYTHON) deploy/k8s/check.py --all

# Runs each of TARGETS for SECONDS=3600, or RUNS=1000000 times.
all-fuzz:
	cd qr-service/core
	for target in $(or $(TARGETS),decodes modules pixels query reader); do
		mkdir -p fuzz/corpus/$$target
		$(CARGO) fuzz run --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds -- \
			$(if $(RUNS),-runs=$(RUNS),-max_total_time=$(or $(SECONDS),30)) \
			-max_len=$(or $(MAX_LEN),3000) -len_control=100 -verbosity=0 -print_final_stats=1
	done

# Changes the code that differs from SINCE, by default from main or else from the commit before, one place at a time, and
# fails if no quick test of its crate notices. .cargo/mutants.toml lists what none needs to notice. What has not been
# tried after 20 minutes is no failure.
all-mutants:
	since='$(SINCE)'
	if [ -z "$$since" ]; then
		since=$$(git merge-base HEAD origin/main 2>/dev/null || true)
		test -n "$$since" -a "$$since" != "$$(git rev-parse HEAD)" || since=HEAD~1
	fi
	mkdir -p target/mutants
	git diff "$$since" -- '*.rs' >target/mutants/since.diff
	status=0
	CARGO_TARGET_DIR=$$PWD/target/mutants/build timeout --signal INT 20m \
		$(CARGO) mutants --in-diff target/mutants/since.diff --output target/mutants || status=$$?
	# 2: some were missed; 3: tests did not end, which notices the change; 124: the time is over.
	case $$status in 0 | 2 | 3 | 124) ;; *) exit $$status ;; esac
	test ! -s target/mutants/mutants.out/missed.txt

# Types the commands of the top README in a fresh clone of the last commit, in a bare Debian; with CLUSTER=file, those of
# docs/getting-started-cluster.md.
all-newcomer:
	$(if $(CLUSTER),CLUSTER='$(CLUSTER)') $(CARGO) nextest run --workspace --all-features --profile all \
		--run-ignored only -E 'test($(if $(CLUSTER),on_a_cluster,in_a_fresh_clone))' --no-capture

# A route behind Traefik and Envoy Gateway. KUBEBUILDER_ASSETS: the folder of etcd, kube-apiserver and kubectl.
all-gateway:
	$(CARGO) build -p carve
	CARVE=$$PWD/target/debug/carve $(PYTHON) deploy/k8s/tests/gateway.py $(ARGS)

all-measure:
	$(MAKE) bench ARGS=instructions
	$(MAKE) simulate RAMPS=200
	$(MAKE) ladder QUICK=1
	$(MAKE) chaos ARGS=--quick

bindings: ## build the command, Wasm, Node addon, Python wheel, C library; PROFILE=dev is faster
	@$(SETUP) wasm python
	PROFILE='$(PROFILE)' qr-service/bindings/build.sh

contract: ## check any server against the contract: URL=http://127.0.0.1:8080, CASES=folder
	@test -x $(CARVE) || { $(SETUP) build && $(PLAIN) -p carve; }
	$(CARVE) contract $(or $(URL),http://127.0.0.1:8080) $(if $(CASES),--cases '$(CASES)')

generate: ## write generated files: nginx' includes, rules, types, qr.h, the map
	@$(SETUP) test
	$(GENERATORS)
	$(RENDER)
	$(PYTHON) deploy/k8s/check.py --write-rules
	GENERATE=1 $(CARGO) nextest run --workspace --all-features -E 'test(up_to_date)'

site: ## build the documentation in target/site; SOURCE_URL: base of links to code
	@$(SETUP) run site
	$(GENERATORS)
	docs/reference/render.py
	docs/site.py
	$(if $(SOURCE_URL),MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL='$(SOURCE_URL)') mdbook build docs

##@ On a cluster

images: ## build every image, with docker, podman or buildah, whichever is installed
	@deploy/images.sh

chart: ## make the Helm chart from the manifests, in target/chart; HELM=helm compares both
	@$(SETUP) validate
	$(PYTHON) deploy/k8s/chart.py $(if $(HELM),--verify '$(HELM)')

deploy-test: ## test deploy/ on a cluster, with load and faults; KUBECTL, LOAD_IMAGE: deploy/k8s
	@$(SETUP) manifests
	TEST=1 deploy/images.sh
	VERSION=prime deploy/images.sh
	$(if $(FROM),FROM='$(FROM)' deploy/images.sh)
	PYTHONPATH=deploy/k8s $(PYTHON) deploy/k8s/tests/test.py --kubectl '$(or $(KUBECTL),kubectl)' \
		--load-image '$(LOAD_IMAGE)' $(if $(FROM),--from '$(FROM)') $(if $(HELM),--helm '$(HELM)') $(ARGS)

release-rehearsal: ## make a whole release on this machine, with its own registry; SKIP=packages
	@PROFILE='$(PROFILE)' SKIP='$(SKIP)' ONLY='$(ONLY)' deploy/release/rehearse.sh

links: ## copy the app's short links: BACKUP=links.db or RESTORE=links.db; KUBECTL=kubectl
	@test -n "$(BACKUP)$(RESTORE)" || { echo "usage: make links BACKUP=links.db, or RESTORE=links.db [KUBECTL=kubectl]" >&2; exit 2; }
	$(if $(BACKUP),$(LINKS) backup >'$(BACKUP).part' || { rm '$(BACKUP).part'; exit 1; }
	mv '$(BACKUP).part' '$(BACKUP)')
	$(if $(RESTORE),$(LINKS) restore <'$(RESTORE)')

##@ Measure it

# The first word of ARGS chooses the program.
bench: ## measure the hot function and its peers; ARGS=formats, feather, instructions
	@arguments=($(ARGS))
	case "$${arguments[0]:-}" in
	formats)
		echo "building the peers with link-time optimisation: 2 minutes the first time"
		$(SETUP) run bench
		test -x target/tools/bench/bin/python || python3 -m venv target/tools/bench
		target/tools/bench/bin/pip install --quiet --disable-pip-version-check segno==1.6.6 zint-bindings==1.2.2
		$(CARGO) run --quiet --release -p qr-bench --bin formats -- --python target/tools/bench/bin/python \
			--node-modules legacy-node/node_modules "$${arguments[@]:1}" ;;
	feather)
		echo "building qr-core and its peers with link-time optimisation: a minute the first time"
		$(CARGO) run --quiet --release -p qr-bench --bin feather ;;
	instructions)
		$(SETUP) bench
		echo "building qr-core with link-time optimisation: a minute the first time"
		$(CARGO) run --quiet --release -p qr-bench --bin instructions -- "$${arguments[@]:1}" ;;
	*)
		echo "building qr-core and its peers with link-time optimisation: a minute the first time"
		$(CARGO) run --quiet --release -p qr-bench --bin qr-bench -- "$${arguments[@]}" ;;
	esac

# RAMPS=100 per cell; ROWS=fail: only rows whose name contains this word.
simulate:
	@$(SETUP) build
	RAMPS=$(or $(RAMPS),1000) ROWS='$(ROWS)' $(CARGO) test --quiet --release -p evidence --test simulate -- \
		--exact tables --nocapture

# Builds the programs that a group needs. A row of the floors whose server cannot be built here is left out, and the
# table says so.
ladder: ## compare servers; QUICK=1, ARGS='--group relay' (floors, nginx, languages), ARGS=page
	@group=$$(sed -nE 's/.*--group[ =]([a-z]+).*/\1/p; s/.*--language[ =].*/languages/p' <<<'$(ARGS)')
	case "$${group:-$(filter page,$(ARGS))}" in
	page)
		$(CARGO) run --profile plain --quiet -p loadtest --bin ladder -- page
		exit ;;
	relay)
		$(SETUP) run load
		npm install --prefix target/tools/relay --no-audit --no-fund --loglevel=error piping-server@1.12.9 >/dev/null
		$(call build,,-p carve)
		$(CARGO) build --quiet --release -p relay-service --bin relay-service
		ln -f target/release/relay-service target/measure/ ;;
	floors)
		$(SETUP) run load
		$(call build,--bins --example static_answer,-p carve)
		$(build_floors) ;;
	nginx)
		$(SETUP) run load
		$(call build,--bins --example static_answer,-p carve -p relay-service) ;;
	languages)
		$(SETUP) run
		$(MAKE) setup-languages
		$(call build,--bins,) ;;
	*)
		$(SETUP) run load wasm
		$(call build,--bins --example static_answer,-p carve -p relay-service)
		$(build_article)
		qr-service/bindings/build.sh cli wasm node ;;
	esac
	$(AS_ON_A_CLUSTER) target/measure/ladder $(if $(QUICK),--quick) $(ARGS)

chaos: ## play faults under load, print what clients saw; ARGS='--soak 10000000'
	@$(SETUP) run load
	$(call build,,-p carve -p relay-service)
	$(CARGO) build --profile plain --no-default-features --quiet -p qr-service --features faults --example wrong_pictures
	ln -f target/plain/examples/wrong_pictures target/measure/examples/
	echo "playing: 11 minutes, with --quick 4; a soak of ten million requests an hour"
	target/measure/chaos $(ARGS)

load: ## send traffic to a route; RATE=100 DURATION=60s FILE=requests.txt URL=http://...
	@test -x $(LOAD) || { $(SETUP) build && $(PLAIN) --no-default-features -p loadtest --bin load; }
	$(LOAD) $(if $(RATE),--rate $(RATE)) $(if $(DURATION),--duration $(DURATION)) \
		--url '$(or $(URL),http://$(or $(STACK_PROXY_ADDR),127.0.0.1:8080))' $(if $(FILE),--file '$(FILE)')

help:
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: $(shell sed -n 's/^\([a-z -]*\):.*/\1/p' Makefile)
