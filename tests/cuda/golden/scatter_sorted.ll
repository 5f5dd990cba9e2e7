; shared 0
; ModuleID = "index_add"

declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

@"shared" = external addrspace(3) global [0 x i8]
define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7", i64 %".8", i64 %".9")
{
entry:
  br label %"start"
start:
  %".11" = call i64 @"thread"()
  %".12" = call i64 @"threads"()
  %".13" = inttoptr i64 %".2" to ptr
  %".14" = inttoptr i64 %".2" to ptr addrspace(1)
  %".15" = inttoptr i64 %".3" to ptr
  %".16" = inttoptr i64 %".3" to ptr addrspace(1)
  %".17" = inttoptr i64 %".4" to ptr
  %".18" = inttoptr i64 %".4" to ptr addrspace(1)
  %".19" = mul i64 %".1", %".12"
  %".20" = add i64 %".19", %".11"
  %".21" = mul i64 %".5", %".6"
  %".22" = icmp slt i64 %".20", %".21"
  br i1 %".22", label %"start.if", label %"start.endif"
start.if:
  br label %"head"
start.endif:
  ret void
head:
  %".25" = phi  i64 [0, %"start.if"], [%".62", %"loop.endif"]
  %".26" = icmp slt i64 %".25", %".7"
  br i1 %".26", label %"loop", label %"after"
loop:
  %".28" = sdiv i64 %".20", %".6"
  %".29" = srem i64 %".20", %".6"
  %".30" = icmp eq i64 %".25", %".25"
  %".31" = mul i64 %".25", 1
  %".32" = add i64 %".31", 0
  %".33" = getelementptr inbounds i64, ptr addrspace(1) %".14", i64 %".32"
  %".34" = load i64, ptr addrspace(1) %".33", align 8
  %".35" = icmp slt i64 %".34", 0
  %".36" = add i64 %".34", %".8"
  %".37" = select  i1 %".35", i64 %".36", i64 %".34"
  %".38" = mul i64 0, %".8"
  %".39" = add i64 %".38", %".37"
  %".40" = icmp sge i64 %".37", 0
  %".41" = and i1 %".30", %".40"
  %".42" = icmp slt i64 %".37", %".8"
  %".43" = and i1 %".41", %".42"
  %".44" = mul i64 1, %".8"
  br i1 %".43", label %"loop.if", label %"loop.endif"
after:
  br label %"start.endif"
loop.if:
  %".46" = mul i64 %".28", %".44"
  %".47" = add i64 %".46", %".39"
  %".48" = mul i64 %".47", %".6"
  %".49" = add i64 %".48", %".29"
  %".50" = mul i64 %".28", %".7"
  %".51" = add i64 %".50", %".25"
  %".52" = mul i64 %".51", %".6"
  %".53" = add i64 %".52", %".29"
  %".54" = getelementptr inbounds float, ptr addrspace(1) %".16", i64 %".53"
  %".55" = load float, ptr addrspace(1) %".54", align 4
  %".56" = getelementptr inbounds float, ptr addrspace(1) %".18", i64 %".49"
  %".57" = load float, ptr addrspace(1) %".56", align 4
  %".58" = fadd contract float %".57", %".55"
  %".59" = getelementptr inbounds float, ptr addrspace(1) %".18", i64 %".49"
  store float %".58", ptr addrspace(1) %".59", align 4
  br label %"loop.endif"
loop.endif:
  %".62" = add nsw i64 %".25", 1
  br label %"head"
}

define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5", i64 %".6", i64 %".7", i64 %".8") nounwind
{
entry:
  br label %"start"
start:
  %".10" = mul i64 %".4", %".5"
  %".11" = call i64 @"threads"()
  %".12" = add i64 %".10", %".11"
  %".13" = sub i64 %".12", 1
  %".14" = call i64 @"threads"()
  %".15" = sdiv i64 %".13", %".14"
  ret i64 %".15"
}
