# Every command of this project; each calls the tool of one part. `make` alone lists them.

.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
NPM := npm --prefix legacy-node --loglevel=error
LIVE := npm --prefix dashboards/live --loglevel=error
# Tools of setup.sh; and Debian has nginx where only root's PATH looks.
export PATH := $(CURDIR)/target/tools/bin:$(PATH):/usr/sbin:/sbin
STACK := target/plain/stack
RAMP := target/plain/ramp
SETUP := deploy/local/setup.sh
# A stack that is measured logs every request once, in nginx; on `make up` qr-service does so too.
AS_ON_A_CLUSTER := QR_ACCESS_LOG=errors
# The program that copies the legacy app's links: beside the stack's data, or in the cluster's pod.
LINKS = $(if $(KUBECTL),$(KUBECTL) -n qr exec -i deployment/legacy-node -- node src/links.js,DATA_DIR=$${STACK_RUN_DIR:-run}/data/legacy-node node legacy-node/src/links.js)

# Renders all that comes from route files; with CHECK=--check, it only looks.
define RENDER
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

# The programs that write or describe generated files. With the features that tests have, so that nothing is compiled
# twice.
GENERATORS := $(CARGO) build --quiet --workspace --all-features --example bindgen \
	$(foreach program,routes qr-service relay-service relay-home shadow edge ramp stack,--bin $(program))
PYTHON := target/tools/python/bin/python

# To measure: qr-service as production runs it, with what $(1) adds, and at the same time the programs
# around it, $(2). They stand beside each other in target/measure.
define build
$(CARGO) build --quiet --profile plain --no-default-features $(2) &
$(CARGO) build --quiet --release -p qr-service $(1)
wait $$!
mkdir -p target/measure/examples
for program in http ladder floors way request chaos shadow edge ramp relay-service relay-home; do
	test ! -x target/plain/$$program || ln -f target/plain/$$program target/measure/
done
ln -f target/release/qr-service target/measure/
endef

# The row with the article's function is a program of its own: the one that people run does not have it.
define build_article
$(CARGO) build --quiet --release -p qr-service --bin qr-service --features reference
mkdir -p target/measure
ln -f target/release/qr-service target/measure/axum-article
endef

##@ The stack on this machine

up: ## start everything; ROUTES=folder OLD=url NEW=url: only the edge, around your servers
	@$(SETUP) $(if $(OLD),around,run)
	$(CARGO) build --profile plain --no-default-features $(if $(OLD),,-p qr-service -p relay-service --features qr-service/api) -p shadow -p edge -p ramp -p stack
	$(STACK) up $(if $(ROUTES),--routes '$(ROUTES)') $(if $(OLD),--old-url '$(OLD)') $(if $(NEW),--new-url '$(NEW)')

down: ## stop everything; data stays
	@test ! -x $(STACK) || $(STACK) down

status: $(STACK) ## what runs, and the share of the new side
	@$(STACK) status

logs: $(STACK) ## the ends of all logs; PART=nginx for one, FOLLOW=1 to follow
	@$(STACK) logs $(if $(FOLLOW),--follow) $(PART)

split: $(STACK) ## send PERCENT=25 of a route to the new side; ROUTE=name if there are several
	@test -n "$(PERCENT)" || { echo "usage: make split PERCENT=25 [ROUTE=name]" >&2; exit 2; }
	$(STACK) split $(if $(ROUTE),--route '$(ROUTE)') $(PERCENT)

stop: $(STACK) ## send all of a route to the old side at once, whatever hangs; ROUTE=name REASON=why
	@$(STACK) stop $(if $(ROUTE),--route '$(ROUTE)') $(if $(REASON),--reason '$(REASON)')

ramp: $(STACK) ## move it step by step, with gates: ARGS='--steps 1,5,25 --hold 60s', ARGS=status
	@$(if $(ROUTE),export RAMP_ROUTE='$(ROUTE)')
	export RAMP_NGINX_DIR=$${RAMP_NGINX_DIR:-$${STACK_RUN_DIR:-run}/nginx}
	export RAMP_PROXY_ADMIN_ADDR=$${RAMP_PROXY_ADMIN_ADDR:-$${STACK_PROXY_ADMIN_ADDR:-127.0.0.1:8081}}
	export RAMP_PROMETHEUS_URL=$${RAMP_PROMETHEUS_URL:-http://$${STACK_PROMETHEUS_ADDR:-127.0.0.1:9090}/prometheus}
	case '$(ARGS)' in
	''|-*) exec $(RAMP) run $(ARGS) ;;
	*) exec $(RAMP) $(ARGS) ;;
	esac

compare: $(STACK) ## ask both sides what FILE=requests.txt lists, and say what differs; ROUTE=name
	@test -n "$(FILE)" || { echo "usage: make compare FILE=requests.txt [ROUTE=name]" >&2; exit 2; }
	$(STACK) compare $(if $(ROUTE),--route '$(ROUTE)') '$(FILE)'

$(STACK):
	@echo "nothing is built yet; make up builds and starts it" >&2
	exit 1

##@ Work on it

setup: ## install what make lint and make test need
	@$(SETUP) test

lint: CHECK := --check
lint: ## formatters, linters, checks of manifests, rules and generated files
	@$(SETUP) test
	$(CARGO) fmt --check
	$(CARGO) clippy --quiet --workspace --all-targets --all-features -- -D warnings
	$(GENERATORS)
	$(RENDER)
	docs/reference/render.py --check
	docs/site.py --check
	$(NPM) run lint
	$(LIVE) run lint
	legacy-node/node_modules/.bin/biome ci --error-on-warnings --config-path=legacy-node dashboards/grafana/*.mjs \
		qr-service/api/page qr-service/api/clients loadtest/floors loadtest/peers
	node dashboards/grafana/lint.mjs
	promtool check config dashboards/prometheus/prometheus.yml
	promtool check rules dashboards/prometheus/rules/*.yml
	promtool test rules dashboards/prometheus/tests/*.yml
	shellcheck -x .ci/run $$(git ls-files '*.sh')
	target/tools/python/bin/hadolint $$(git ls-files '*Dockerfile')
	target/tools/python/bin/zizmor --offline --quiet .github/workflows
	$(PYTHON) deploy/k8s/check.py

test: ## the tests that a change needs, pages in Chromium included
	@$(SETUP) test
	$(MAKE) bindings PROFILE=dev
	$(CARGO) nextest run --workspace --all-features $(ARGS)

test-all: ## every test, an hour; PART=rust: only these; CONTRIBUTING.md lists the parts
	@$(SETUP) all
	for part in $(or $(PART),rust docs bindings manifests fuzz newcomer measure); do
		echo "test-all: $$part"
		$(MAKE) all-$$part
	done

# The tests of make test as well: some only fail beside others.
all-rust:
	$(MAKE) bindings PROFILE=dev
	$(CARGO) nextest run --workspace --all-features --profile all $(ARGS)

all-docs:
	$(CARGO) test --quiet --doc --workspace --all-features
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --quiet --workspace --no-deps --all-features
	# What a registry would refuse; `cargo publish --dry-run` of the two compiles them too.
	$(CARGO) package --quiet --offline --no-verify --allow-dirty -p qr-core -p qr-options
	$(CARGO) fmt --check --all --manifest-path loadtest/floors/rust/Cargo.toml
	test -z "$$(gofmt -l loadtest/floors/go)"

# As they are released, which make test does not wait for.
all-bindings:
	export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
	$(MAKE) bindings
	$(NPM) test
	qr-service/bindings/wasm/test.sh

all-manifests:
	target/tools/bin/actionlint
	$(PYTHON) deploy/k8s/check.py --all

# SECONDS=3600 or RUNS=1000000 for each of TARGETS.
all-fuzz:
	cd qr-service/core
	for target in $(or $(TARGETS),decodes modules pixels query); do
		mkdir -p fuzz/corpus/$$target
		$(CARGO) fuzz run --sanitizer none $$target fuzz/corpus/$$target fuzz/seeds -- \
			$(if $(RUNS),-runs=$(RUNS),-max_total_time=$(or $(SECONDS),30)) \
			-max_len=$(or $(MAX_LEN),3000) -len_control=100 -verbosity=0 -print_final_stats=1
	done

# What the top README says, typed in a fresh clone of the last commit; CLUSTER=file: docs/getting-started-cluster.md
all-newcomer:
	$(if $(CLUSTER),CLUSTER='$(CLUSTER)') $(CARGO) nextest run --workspace --all-features --profile all \
		--run-ignored only -E 'test($(if $(CLUSTER),on_a_cluster,in_a_fresh_clone))' --no-capture

all-measure:
	$(MAKE) ladder QUICK=1
	$(MAKE) chaos ARGS=--quick

bindings: ## build the command, Wasm, Node addon, Python wheel, C library; PROFILE=dev is faster
	@$(SETUP) wasm python
	PROFILE='$(PROFILE)' qr-service/bindings/build.sh

contract: ## check any server against the contract: URL=http://127.0.0.1:8080, CASES=folder
	@$(CARGO) run --quiet --profile plain -p contract -- $(or $(URL),http://127.0.0.1:8080) \
		$(if $(CASES),--cases '$(CASES)')

generate: ## write what is made from other files: nginx' includes, docs/reference, rules
	@$(SETUP) test
	$(GENERATORS)
	$(RENDER)
	docs/reference/render.py
	$(PYTHON) deploy/k8s/check.py --write-rules

site: ## the documentation as a website, in target/site; SOURCE_URL: where links to code lead
	@$(SETUP) site
	docs/site.py
	$(if $(SOURCE_URL),MDBOOK_OUTPUT__HTML__GIT_REPOSITORY_URL='$(SOURCE_URL)') mdbook build docs

##@ On a cluster

images: ## every image, with docker, podman or buildah, whichever is there
	@deploy/images.sh

chart: ## the Helm chart, from the manifests: target/chart; HELM=helm compares both
	@$(SETUP) manifests
	$(PYTHON) deploy/k8s/chart.py $(if $(HELM),--verify '$(HELM)')

deploy-test: ## deploy/ on a cluster, under load and faults; KUBECTL, LOAD_IMAGE: deploy/k8s
	@$(SETUP) manifests
	TEST=1 deploy/images.sh
	VERSION=prime deploy/images.sh
	$(if $(FROM),FROM='$(FROM)' deploy/images.sh)
	$(PYTHON) deploy/k8s/test.py --kubectl '$(or $(KUBECTL),kubectl)' \
		--load-image '$(LOAD_IMAGE)' $(if $(FROM),--from '$(FROM)') $(if $(HELM),--helm '$(HELM)') $(ARGS)

release-rehearsal: ## a whole release on this machine, with its own registry; SKIP=packages
	@PROFILE='$(PROFILE)' SKIP='$(SKIP)' ONLY='$(ONLY)' deploy/release/rehearse.sh

links: ## copy the app's short links: BACKUP=links.db or RESTORE=links.db; KUBECTL=kubectl
	@test -n "$(BACKUP)$(RESTORE)" || { echo "usage: make links BACKUP=links.db, or RESTORE=links.db [KUBECTL=kubectl]" >&2; exit 2; }
	$(if $(BACKUP),$(LINKS) backup >'$(BACKUP).part' || { rm '$(BACKUP).part'; exit 1; }
	mv '$(BACKUP).part' '$(BACKUP)')
	$(if $(RESTORE),$(LINKS) restore <'$(RESTORE)')

##@ Measure it

instructions: ## instructions a call of the hot function, and the change since they were recorded
	$(CARGO) run --quiet --release -p qr-bench --bin instructions -- $(if $(RECORD),--record)

layout: ## which functions lie beside each other in qr-service, from what runs: after a new compiler, or much new code
	$(CARGO) build --quiet --release -p qr-service
	qr-service/server/layout.py target/release/qr-service

request: ## instructions that qr-service takes for a request of /qrcode and /v1/qr, beside a static answer by axum; ARGS='--requests 500 --functions'
	@$(SETUP) run load
	$(call build,--bins --example static_answer,-p loadtest --bins)
	ln -f target/release/examples/static_answer target/measure/examples/
	target/measure/request $(ARGS)

simulate: ## how often ramp's tests roll back equal sides, and how soon they catch worse ones; RAMPS=10000
	$(CARGO) run --quiet --profile plain -p ramp -- simulate --ramps $(or $(RAMPS),10000)

bench: ## the hot function beside its peers: a table, and target/bench/core.json
	$(CARGO) run --quiet --release -p qr-bench --bin qr-bench

bench-formats: ## SVG, PDF, EPS and large PNG beside segno, zint, qrencode, fast_qr, rxing and npm's qrcode: time and bytes; ARGS='--rounds 5'
	@$(SETUP) run bench
	test -x target/tools/bench/bin/python || python3 -m venv target/tools/bench
	target/tools/bench/bin/pip install --quiet --disable-pip-version-check segno==1.6.6 zint-bindings==1.2.2
	$(CARGO) run --quiet --release -p qr-bench --bin formats -- --python target/tools/bench/bin/python \
		--node-modules legacy-node/node_modules $(ARGS)

bench-http: ## /qrcode beside a static answer, the article's function, Node and QuickChart: target/bench/http.json
	@$(SETUP) run load
	$(build_article)
	$(call build,--bins --example static_answer,-p shadow -p edge -p ramp -p relay-service -p loadtest --bins)
	ln -f target/release/examples/static_answer target/measure/examples/
	target/measure/http

way: ## what each part of nginx' configuration costs a request: target/way/; ARGS='--rounds 5' adds processor time
	@$(SETUP) run load
	$(call build,--bins,-p shadow -p edge -p ramp -p relay-service -p loadtest --bins)
	$(AS_ON_A_CLUSTER) target/measure/way $(ARGS)

# A row whose server cannot be built or installed here is left out, and the table says so.
floors: ## servers that always answer the same, beside each other: target/floors/; ARGS='--only node --connections 100'
	@$(SETUP) run load
	$(SETUP) floors || true
	$(call build,--bins --example floor,-p loadtest --bins)
	ln -f target/release/examples/floor target/measure/examples/
	mkdir -p target/floors
	for server in nethttp fasthttp; do
		go build -C loadtest/floors/go -o "$$PWD/target/floors/$$server" "./$$server" ||
			echo "floors: the row of $$server is left out: it needs Go 1.26" >&2
	done
	# gohyper links hyper as a library of the same build.
	rust() {
		$(CARGO) build --quiet --locked --workspace --manifest-path loadtest/floors/rust/Cargo.toml \
			--target-dir target/floors/rust "$${@:3}" || return
		CGO_LDFLAGS="-L$$PWD/target/floors/rust/$$1" go build -C loadtest/floors/go \
			-o "$$PWD/target/floors/gohyper-$$2" ./gohyper
	}
	{ rust release documented --release &&
		rust tuned tuned --profile tuned --no-default-features --features tuned; } ||
		echo "floors: rows in Rust are left out: they need Rust 1.95" >&2
	target/measure/floors $(ARGS)

threads: ## one runtime, or one for each thread: docs/adr/0016-threads.md; 11 minutes; ARGS='--load-nice -10', '--threads 4 --server-cores 0,1,2,3 --load-cores 4'
	@$(SETUP) run load
	$(CARGO) build --quiet --release -p qr-service --bins
	$(CARGO) build --quiet --release -p service-kit --features testing --example threads
	target/release/examples/threads measure --qr-service target/release/qr-service $(ARGS)

ladder: ## every way to serve /qrcode under the same load: target/ladder/; QUICK=1 in three minutes
	@$(SETUP) run load
	$(MAKE) rungs
	$(build_article)
	$(call build,--bins --example static_answer,-p shadow -p edge -p ramp -p relay-service -p loadtest --bins)
	ln -f target/release/examples/static_answer target/measure/examples/
	$(AS_ON_A_CLUSTER) target/measure/ladder $(if $(QUICK),--quick) $(ARGS)

ladder-relay: ## relays beside each other and beside plain proxies: target/ladder/relay.md; ARGS='--rounds 3'
	@$(SETUP) run load
	npm install --prefix target/tools/relay --no-audit --no-fund --loglevel=error piping-server@1.12.9 >/dev/null
	$(CARGO) build --quiet --release -p relay-service --bin relay-service
	$(CARGO) build --quiet --profile plain -p loadtest --bin relay_ladder
	mkdir -p target/measure
	ln -f target/release/relay-service target/plain/relay_ladder target/measure/
	target/measure/relay_ladder $(ARGS)

ladder-readme: ## put the last ladder's table and picture into the README
	$(CARGO) run --profile plain --quiet -p loadtest --bin ladder -- readme

capacity: ## put the last figures of `make ladder` and `make way` into the tables of docs/capacity.md
	$(CARGO) run --profile plain --quiet -p loadtest --bin capacity

chaos: ## faults under load, one after the other, and what clients saw of each; ARGS=--quick is shorter
	@$(SETUP) run load
	$(call build,,-p shadow -p edge -p ramp -p relay-service -p loadtest --bins)
	$(CARGO) build --profile plain --no-default-features --quiet -p qr-service --features faults --example wrong_pictures
	ln -f target/plain/examples/wrong_pictures target/measure/examples/
	target/measure/chaos $(ARGS)

soak: ## millions of requests with all faults in turn, until REQUESTS=10000000 were made
	@$(MAKE) chaos ARGS='--soak $(or $(REQUESTS),10000000) --out target/chaos/soak.json $(ARGS)'

ramps: ## ramps on the real stack with equal and worse new sides: ARGS='--each 10'
	@$(SETUP) run
	$(call build,,-p shadow -p edge -p ramp -p relay-service)
	$(CARGO) build --quiet --release -p loadtest --bin ramps
	ln -f target/release/ramps target/measure/
	target/measure/ramps $(ARGS)

relay-moves: ## pairs of all kinds while the relay's share moves and its parts restart: RATE=50 SECONDS=300
	@$(SETUP) run
	$(CARGO) build --quiet --workspace --all-features --bins
	RATE=$(or $(RATE),50) SECONDS=$(or $(SECONDS),300) $(CARGO) test --workspace --all-features \
		--test relay_moves -- --ignored --nocapture

load: ## traffic for a route: RATE=100 DURATION=60s, distinct texts for /qrcode or FILE=requests.txt, to the proxy
	@$(SETUP) load
	$(CARGO) run --profile plain --quiet -p loadtest --bin load -- $(if $(RATE),--rate $(RATE)) \
		$(if $(DURATION),--duration $(DURATION)) --url '$(or $(URL),http://$(or $(STACK_PROXY_ADDR),127.0.0.1:8080))' \
		$(if $(FILE),--file '$(FILE)')

help:
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*/\1/p' Makefile)
