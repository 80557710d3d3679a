# Every command of this project; each calls the tool of one part. `make` alone lists them.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
NPM := npm --prefix legacy-node --loglevel=error
LIVE := npm --prefix dashboards/live --loglevel=error
# Debian has nginx where only root's PATH looks.
export PATH := $(PATH):/usr/sbin:/sbin
STACK := target/plain/stack
RAMP := target/plain/ramp
SETUP := deploy/local/setup.sh
# A stack that is measured logs every request once, in nginx; on `make up` qr-service does so too.
AS_ON_A_CLUSTER := QR_ACCESS_LOG=errors
# The program that copies the legacy app's links: beside the stack's data, or in the cluster's pod.
LINKS = $(if $(KUBECTL),$(KUBECTL) -n qr exec -i deployment/legacy-node -- node src/links.js,DATA_DIR=$${STACK_RUN_DIR:-run}/data/legacy-node node legacy-node/src/links.js)

# Renders all that comes from route files; with CHECK=--check, it only looks.
define RENDER
$(CARGO) build --quiet $(or $(ROUTES_OF),-p route)
routes=target/debug/routes
$$routes render --to proxy $(CHECK)
$$routes render --to deploy/k8s/base/proxy --only upstreams.conf,locations.conf,relay.toml $(CHECK) --old http://legacy-node:3000 \
	--new http://qr-service-ready:42069 --resolve http://qr-service-ready:42069 --shadow http://shadow:42080 --prometheus http://prometheus:9090 \
	--address 127.0.0.1:3002=legacy-relay:3002 --address 127.0.0.1:3003=legacy-relay:3003 \
	--address 127.0.0.1:42090=relay-service:42090 --address 127.0.0.1:42091=relay-service:42091 \
	--address 127.0.0.1:42092=relay-home-0:42092 --address 127.0.0.1:42093=relay-home-0:42093 \
	--address 127.0.0.1:42094=relay-home-1:42092 --address 127.0.0.1:42095=relay-home-1:42093
$$routes render --routes deploy/k8s/overlays/own-app --to deploy/k8s/overlays/own-app $(CHECK) \
	--old http://old.my-app:80 --new http://new.my-app:80 --shadow http://shadow:42080 --prometheus http://prometheus:9090
$$routes schema $(CHECK) proxy/routes/route.schema.json
endef

# The programs that docs/reference describes, besides legacy-node.
DESCRIBED := $(foreach program,qr-service relay-service relay-home shadow edge ramp stack,--bin $(program))

# To measure: qr-service as production runs it, with what $(1) adds, and at the same time the programs
# around it, $(2). They stand beside each other in target/measure.
define build
echo "building qr-service with link-time optimisation: 2 minutes the first time"
$(CARGO) build --quiet --profile plain --no-default-features --features loadtest/servers -p loadtest --bins $(2) &
$(CARGO) build --quiet --release -p qr-service $(1)
wait $$!
mkdir -p target/measure/examples
for program in ladder chaos shadow edge ramp relay-service relay-home; do
	test ! -x target/plain/$$program || ln -f target/plain/$$program target/measure/
done
ln -f target/release/qr-service target/measure/
for example in static_answer floor; do
	test ! -x target/release/examples/$$example || ln -f target/release/examples/$$example target/measure/examples/
done
endef

# The row with the article's function is a program of its own: the one that people run does not have it.
define build_article
echo "building qr-service with the article's function: 2 minutes the first time"
$(CARGO) build --quiet --release -p qr-service --bin qr-service --features reference
mkdir -p target/measure
ln -f target/release/qr-service target/measure/axum-article
endef

# The servers of the floors. gohyper links hyper as a library of the same build.
define build_floors
echo "building the floors in Rust and Go: 4 minutes the first time"
mkdir -p target/floors
rust=target/floors/rust/release
if $(CARGO) build --quiet --locked --release --workspace --manifest-path loadtest/floors/rust/Cargo.toml \
	--target-dir target/floors/rust; then
	ln -f $$rust/hyper $$rust/axum $$rust/actix-web target/floors/
else
	echo "floors: rows in Rust are left out: they need Rust 1.95" >&2
fi
for server in nethttp fasthttp gohyper; do
	CGO_LDFLAGS="-L$$PWD/$$rust" go build -C loadtest/floors/go -o "$$PWD/target/floors/$$server" "./$$server" ||
		echo "floors: the row of $$server is left out: it needs Go 1.26" >&2
done
endef

##@ The stack on this machine

up: ## start everything; ROUTES=folder OLD=http://host:port NEW=...: only the edge, around two servers of yours; QR_COMPAT=...: docs/switching.md
	@$(SETUP) $(if $(OLD),around,run)
	$(CARGO) build --profile plain --no-default-features $(if $(OLD),,-p qr-service -p relay-service --features qr-service/api) -p shadow -p edge -p ramp -p stack
	$(STACK) up $(if $(ROUTES),--routes '$(ROUTES)') $(if $(OLD),--old-url '$(OLD)') $(if $(NEW),--new-url '$(NEW)')

down: ## stop everything; data stays
	@test ! -x $(STACK) || $(STACK) down

status: $(STACK) ## what runs, and the share of the new side
	@$(STACK) status

logs: $(STACK) ## the ends of all logs; PART=nginx for one, FOLLOW=1 to follow
	@$(STACK) logs $(if $(FOLLOW),--follow) $(PART)

split: $(STACK) ## send PERCENT=25 of a route to the new side; ROUTE=name where there are several
	@test -n "$(PERCENT)" || { echo "usage: make split PERCENT=25 [ROUTE=name]" >&2; exit 2; }
	$(STACK) split $(if $(ROUTE),--route '$(ROUTE)') $(PERCENT)

stop: $(STACK) ## send every new request of a route to the old side at once, whatever hangs; ROUTE=name REASON=why
	@$(STACK) stop $(if $(ROUTE),--route '$(ROUTE)') $(if $(REASON),--reason '$(REASON)')

ramp: $(STACK) ## move it step by step, with gates and rollback: ARGS='--steps 1,5,25 --hold 60s', or ARGS=status
	@$(if $(ROUTE),export RAMP_ROUTE='$(ROUTE)')
	export RAMP_NGINX_DIR=$${RAMP_NGINX_DIR:-$${STACK_RUN_DIR:-run}/nginx}
	export RAMP_PROXY_ADMIN_ADDR=$${RAMP_PROXY_ADMIN_ADDR:-$${STACK_PROXY_ADMIN_ADDR:-127.0.0.1:8081}}
	export RAMP_PROMETHEUS_URL=$${RAMP_PROMETHEUS_URL:-http://$${STACK_PROMETHEUS_ADDR:-127.0.0.1:9090}/prometheus}
	case '$(ARGS)' in
	''|-*) exec $(RAMP) run $(ARGS) ;;
	*) exec $(RAMP) $(ARGS) ;;
	esac

compare: $(STACK) ## ask both sides each path and query of FILE=requests.txt, and say what differs; ROUTE=name
	@test -n "$(FILE)" || { echo "usage: make compare FILE=requests.txt [ROUTE=name]" >&2; exit 2; }
	$(STACK) compare $(if $(ROUTE),--route '$(ROUTE)') '$(FILE)'

routes: ## write what nginx includes from proxy/routes/*.toml, and the schema for editors
	@$(RENDER)

reference: ## write docs/reference from the programs, proxy/routes/route.schema.json and proxy/ramp/gates*.toml
	@$(SETUP) run
	$(CARGO) build --quiet --workspace --all-features $(DESCRIBED) --example bindgen
	docs/reference/render.py

$(STACK):
	@echo "nothing is built yet; make up builds and starts it" >&2
	exit 1

##@ Work on it

setup: ## install what tests, linters and benchmarks need
	@$(SETUP) all

test: ## every test of every part, the contract suite and the pages in Chromium included
	@$(SETUP) all
	# Without link-time optimisation the CLI and the addon compile faster, and are tested all the same.
	export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
	$(MAKE) rungs
	deploy/local/tests.py

# A module is optimised as a whole, on one processor; the others are compiled beside it.
rungs: ## build what the legacy app can make pictures with: the CLI, the Wasm modules, the addon
	@$(SETUP) wasm
	qr-service/bindings/wasm/build.sh & wasm=$$!
	$(CARGO) build --release --quiet -p qr-cli || { wait $$wasm; exit 1; }
	qr-service/bindings/node/build.sh --quiet || { wait $$wasm; exit 1; }
	wait $$wasm

python: ## build the wheel for Python into target/wheels, and test it
	@$(SETUP) python
	rm -f target/wheels/qr_fast-*
	target/tools/wheel/bin/maturin build --quiet --locked --profile $(or $(PROFILE),release) -m qr-service/bindings/python/Cargo.toml \
		--interpreter target/tools/wheel/bin/python
	target/tools/wheel/bin/pip install --quiet --disable-pip-version-check --no-index --force-reinstall target/wheels/qr_fast-*.whl
	target/tools/wheel/bin/pytest --quiet -p no:cacheprovider qr-service/bindings/python/test

fuzz: ## look for faults of qr-core and qr-query: SECONDS=3600 or RUNS=1000000 for each of TARGETS
	@$(SETUP) fuzz
	cd qr-service/core
	for target in $(or $(TARGETS),decodes modules pixels query); do
		mkdir -p fuzz/corpus/$$target
		$(CARGO) fuzz run --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds -- \
			$(if $(RUNS),-runs=$(RUNS),-max_total_time=$(or $(SECONDS),60)) \
			-max_len=$(or $(MAX_LEN),3000) -len_control=100 -verbosity=0 -print_final_stats=1
	done

fuzz-relay: ## look for requests that the relay reads otherwise than hyper: CASES=1000000
	PROPTEST_CASES=$(or $(CASES),100000) $(CARGO) test -p relay-service --all-features --lib any_bytes

lint: CHECK := --check
# With the features that tests have, so that they need not compile it again; Cargo counts those of tests too
# where it builds an example.
lint: ROUTES_OF := --workspace --all-features --bin routes --example bindgen $(DESCRIBED)
lint: ## formatters, linters, and the checks of configuration, rules and the dashboard
	@$(SETUP) all
	$(CARGO) fmt --check
	$(CARGO) fmt --check --all --manifest-path loadtest/floors/rust/Cargo.toml
	test -z "$$(gofmt -l loadtest/floors/go)"
	$(CARGO) clippy --quiet --workspace --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --workspace --no-deps --all-features
	# What a registry would refuse; `cargo publish --dry-run` of the two compiles them too.
	$(CARGO) package --quiet --offline --no-verify --allow-dirty -p qr-core -p qr-options
	$(RENDER)
	$(NPM) run lint
	$(LIVE) run lint
	legacy-node/node_modules/.bin/biome ci --error-on-warnings --config-path=legacy-node dashboards/grafana/*.mjs
	legacy-node/node_modules/.bin/biome ci --error-on-warnings --config-path=legacy-node qr-service/api/page qr-service/api/clients loadtest/floors loadtest/peers
	node dashboards/grafana/lint.mjs
	promtool check config dashboards/prometheus/prometheus.yml
	promtool check rules dashboards/prometheus/rules/*.yml
	promtool test rules dashboards/prometheus/tests/*.yml
	docs/reference/render.py --check
	docs/site.py --check
	shellcheck -x .ci/run deploy/images.sh deploy/local/setup.sh deploy/release/rehearse.sh deploy/release/release.sh proxy/start.sh qr-service/api/schemathesis.sh qr-service/bindings/c/install.sh qr-service/bindings/wasm/build.sh qr-service/bindings/wasm/test.sh
	target/tools/python/bin/hadolint legacy-node/Dockerfile proxy/Dockerfile qr-service/Dockerfile
	target/tools/bin/actionlint
	target/tools/python/bin/zizmor --offline --quiet .github/workflows
	$(MAKE) deploy-check

contract: ## check any server against the contract: URL=http://127.0.0.1:8080, CASES=folder for another route
	@$(CARGO) run --quiet --profile plain -p contract -- $(or $(URL),http://127.0.0.1:8080) \
		$(if $(CASES),--cases '$(CASES)')

site: ## the documentation as a website, in target/site; SOURCE_URL=https://... is where its links to code lead
	@$(SETUP) site
	docs/site.py
	$(if $(SOURCE_URL),MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL='$(SOURCE_URL)') PATH="$$PWD/target/tools/bin:$$PATH" mdbook build docs

newcomer: ## what the top README says, typed in a fresh clone of the last commit, where all is built: half an hour; CLUSTER=file: docs/getting-started-cluster.md
	@$(SETUP) run $(if $(CLUSTER),manifests)
	$(if $(CLUSTER),CLUSTER='$(CLUSTER)') $(CARGO) test -p stack --test minutes -- --ignored --nocapture $(if $(CLUSTER),on_a_cluster,in_a_fresh_clone)

links-backup: ## the short links into FILE=links.db while the app runs; with KUBECTL=kubectl those of a cluster
	@test -n "$(FILE)" || { echo "usage: make links-backup FILE=links.db [KUBECTL=kubectl]" >&2; exit 2; }
	$(LINKS) backup >'$(FILE).part' || { rm '$(FILE).part'; exit 1; }
	mv '$(FILE).part' '$(FILE)'

links-restore: ## replace all short links by those of FILE=links.db while the app runs; KUBECTL=kubectl as above
	@test -n "$(FILE)" || { echo "usage: make links-restore FILE=links.db [KUBECTL=kubectl]" >&2; exit 2; }
	$(LINKS) restore <'$(FILE)'

##@ On a cluster

images: ## every image, with docker, podman or buildah, whichever is there
	@deploy/images.sh

release-rehearsal: ## a whole release on this machine, with a registry and a key of its own; PROFILE=plain SKIP=packages
	@PROFILE='$(PROFILE)' SKIP='$(SKIP)' ONLY='$(ONLY)' deploy/release/rehearse.sh

deploy-check: ## render, validate and score the manifests, without a cluster
	@$(SETUP) manifests
	target/tools/python/bin/python deploy/k8s/check.py

chart: ## the Helm chart, from the manifests: target/chart; HELM=helm checks that both render the same
	@$(SETUP) manifests
	target/tools/python/bin/python deploy/k8s/chart.py $(if $(HELM),--verify '$(HELM)')

deploy-rules: ## write the rules of dashboards/ into the manifest for prometheus-operator
	@$(SETUP) manifests
	target/tools/python/bin/python deploy/k8s/check.py --write-rules

deploy-test: ## deploy/ on the cluster of KUBECTL, under load and faults: LOAD_IMAGE='kind load docker-image'; FROM=tag to upgrade from
	@$(SETUP) manifests
	TEST=1 deploy/images.sh
	VERSION=prime deploy/images.sh
	$(if $(FROM),FROM='$(FROM)' deploy/images.sh)
	target/tools/python/bin/python deploy/k8s/test.py --kubectl '$(or $(KUBECTL),kubectl)' \
		--load-image '$(LOAD_IMAGE)' $(if $(FROM),--from '$(FROM)') $(if $(HELM),--helm '$(HELM)') $(ARGS)

##@ Measure it

# Its programs are given by the first word of ARGS.
bench: ## the hot function beside its peers; ARGS=formats, ARGS=instructions
	@arguments=($(ARGS))
	case "$${arguments[0]:-}" in
	formats)
		echo "building the peers with link-time optimisation: 2 minutes the first time"
		$(SETUP) run bench
		test -x target/tools/bench/bin/python || python3 -m venv target/tools/bench
		target/tools/bench/bin/pip install --quiet --disable-pip-version-check segno==1.6.6 zint-bindings==1.2.2
		$(CARGO) run --quiet --release -p qr-bench --bin formats -- --python target/tools/bench/bin/python \
			--node-modules legacy-node/node_modules "$${arguments[@]:1}" ;;
	instructions)
		echo "building qr-core with link-time optimisation: a minute the first time"
		$(CARGO) run --quiet --release -p qr-bench --bin instructions -- "$${arguments[@]:1}" ;;
	*)
		echo "building qr-core and its peers with link-time optimisation: a minute the first time"
		$(CARGO) run --quiet --release -p qr-bench --bin qr-bench -- "$${arguments[@]}" ;;
	esac

# What a group needs is built; a row of the floors whose server cannot be built here is left out, and the table says so.
ladder: ## servers under load; QUICK=1 ARGS='--group relay' (floors, nginx); readme
	@group=$$(sed -nE 's/.*--group[ =]([a-z]+).*/\1/p' <<<'$(ARGS)')
	case "$${group:-$(filter readme,$(ARGS))}" in
	readme)
		$(CARGO) run --profile plain --quiet -p loadtest --bin ladder -- readme
		exit ;;
	relay)
		$(SETUP) run load
		npm install --prefix target/tools/relay --no-audit --no-fund --loglevel=error piping-server@1.12.9 >/dev/null
		$(call build,,-p shadow -p edge -p ramp)
		$(CARGO) build --quiet --release -p relay-service --bin relay-service
		ln -f target/release/relay-service target/measure/ ;;
	floors)
		$(SETUP) run load
		$(SETUP) floors || true
		$(call build,--bins --example static_answer --example floor,-p shadow -p edge -p ramp)
		$(build_floors) ;;
	nginx)
		$(SETUP) run load
		$(call build,--bins --example static_answer,-p shadow -p edge -p ramp -p relay-service) ;;
	*)
		$(SETUP) run load
		$(MAKE) rungs
		$(build_article)
		$(call build,--bins --example static_answer,-p shadow -p edge -p ramp -p relay-service) ;;
	esac
	$(AS_ON_A_CLUSTER) target/measure/ladder $(if $(QUICK),--quick) $(ARGS)

chaos: ## faults under load, and what clients saw; ARGS='--soak 10000000'
	@$(SETUP) run load
	$(call build,,-p shadow -p edge -p ramp -p relay-service)
	$(CARGO) build --profile plain --no-default-features --quiet -p qr-service --features faults --example wrong_pictures
	ln -f target/plain/examples/wrong_pictures target/measure/examples/
	echo "playing: 11 minutes, with --quick 4; a soak of ten million requests an hour"
	target/measure/chaos $(ARGS)

load: ## traffic for a route; RATE=100 DURATION=60s FILE=requests.txt URL=http://...
	@$(CARGO) build --profile plain --quiet --no-default-features -p loadtest --bin load
	target/plain/load $(if $(RATE),--rate $(RATE)) $(if $(DURATION),--duration $(DURATION)) \
		--url '$(or $(URL),http://$(or $(STACK_PROXY_ADDR),127.0.0.1:8080))' $(if $(FILE),--file '$(FILE)')

help: ## this list
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: up down status logs split stop ramp compare routes reference links-backup links-restore setup test rungs python fuzz fuzz-relay lint contract site newcomer images release-rehearsal deploy-check chart deploy-rules deploy-test \
	bench ladder chaos load help
