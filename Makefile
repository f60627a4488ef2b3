# Entry points for developers; `make help` lists them.

PYTHON ?= python3
.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build target/release/multihop, and the Python package with the same command in .venv
	@$(PYTHON) tools/build.py

.PHONY: fast
fast: ## The same, faster at run time: compiled with a profile of its own runs (10 minutes more)
	@$(PYTHON) tools/build.py profile command package

.PHONY: package
package:
	@$(PYTHON) tools/build.py package

.PHONY: demo
demo: ## Compare six transports over four hops: tables within two minutes, figures in out/demo.html
	@$(PYTHON) tools/build.py demo

.PHONY: docs
docs: package ## Build the documentation site, with its gallery and executed notebooks: out/site/index.html
	@$(PYTHON) tools/build.py docs

.PHONY: test
test: ## Run everything that CI runs; for a single step: python3 tools/test.py STEP
	@$(PYTHON) tools/test.py

.PHONY: release-check
release-check: ## Check everything that a release publishes, with two builds that must agree (many minutes)
	@$(PYTHON) tools/test.py supply biome manifests workflows metadata package sbom reproducible interfaces

.PHONY: sanitize
sanitize: ## Run the tests of crates with unsafe code under AddressSanitizer (needs a nightly toolchain)
	@tools/sanitize.sh

.PHONY: bench
bench: ## Measure fixed scenarios of up to 10,000 nodes and compare them with their targets (many minutes)
	@cargo run --quiet --release --locked -p multihop-bench
	@cargo run --quiet --release --locked -p multihop-bench --bin endpoints

.PHONY: validate
validate: package ## Repeat the validation studies with short runs, into out/validation
	@.venv/bin/multihop papers run validation --out out/validation --markdown out/validation/pages
	@cargo test --quiet --release --locked --package multihop-sim --test it saturation_of_every_rate -- --ignored
	@cargo test --quiet --release --locked --package multihop-routing-extra --test it a_day_leaves -- --ignored --nocapture

.PHONY: validate-full
validate-full: package ## The same with full run lengths (hours), into docs/validation
	@.venv/bin/multihop papers run validation --full --out out/validation --markdown docs/validation

.PHONY: papers
papers: package ## Repeat the papers' experiments with few and short runs: out/papers/report.html
	@.venv/bin/multihop papers run --quick

.PHONY: papers-full
papers-full: package ## The same with the papers' run lengths and repetitions (hours), into docs/papers
	@.venv/bin/multihop papers run --full --markdown docs/papers

.PHONY: lint
lint: ## Check formatting, doc comments, clippy, ruff, mypy and Biome, without tests
	@$(PYTHON) tools/test.py fmt comments clippy clippy-demo clippy-network ruff mypy biome

.PHONY: fmt
fmt: ## Format Rust and Python
	@$(PYTHON) tools/build.py venv
	@cargo fmt --all
	@.venv/bin/ruff check --quiet --fix-only .
	@.venv/bin/ruff format --quiet .

.PHONY: clean
clean: ## Remove everything that can be rebuilt
	@rm -rf target fuzz/target .venv out web/node_modules web/dist/*.html .mypy_cache .ruff_cache .pytest_cache
